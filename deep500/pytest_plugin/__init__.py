"""The pytest plugin: the fixtures `d5` and `benchmark`; `--d5-save` and `--d5-against` for a whole suite.

pytest imports this at every start, so it imports nothing that a suite without benchmarks would not need: what measures
is imported by the first test that asks for a fixture, or by an option. PYTEST_DONT_REWRITE
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from .options import add_options, takes_over

if TYPE_CHECKING:
    from .fixture import D5
    from .suite_run import SuiteRun

RUN = pytest.StashKey["SuiteRun"]()
FIXTURES = {"d5", "benchmark"}


def pytest_addoption(
    parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager
) -> None:
    add_options(parser, takes_over(pluginmanager))


def pytest_configure(config: pytest.Config) -> None:
    """Refuse options that cannot work, before a test runs."""
    if takes_over(config.pluginmanager):
        from . import alias

        config.pluginmanager.register(alias, "deep500-benchmark")
        config.addinivalue_line(
            "markers",
            "benchmark(group, max_time, …): settings of pytest-benchmark's fixture, which deep500 stands in for",
        )
    if config.option.d5_save is not None or config.option.d5_against:
        run_of(config)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    from .options import left_out

    unwanted = left_out(config, items, FIXTURES)
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        gone = set(map(id, unwanted))
        items[:] = [item for item in items if id(item) not in gone]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Two measuring tests of one name could not be told apart."""
    names: set[str] = set()
    for item in session.items:
        if FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            continue
        if item.nodeid in names:
            raise pytest.UsageError(
                f"two tests are named {item.nodeid}, so their times could not be told apart: rename one"
            )
        names.add(item.nodeid)
    if names and RUN in session.config.stash:
        session.config.stash[RUN].tests = sorted(names)


@pytest.fixture
def d5(request: pytest.FixtureRequest) -> Iterator["D5"]:
    """Benchmarks and checks: `d5.bench(f, x)`, `d5.compare(f, g)`, `d5.check(operator)`."""
    from .fixture import D5

    yield D5(run_of(request.config), request.node.nodeid)


def run_of(config: pytest.Config) -> "SuiteRun":
    """The measurements of this session, which begin with the first call."""
    if RUN not in config.stash:
        from .suite_run import suite_run

        config.stash[RUN] = suite_run(config)
    return config.stash[RUN]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if RUN in session.config.stash and exitstatus in (0, 1):
        from .finishing import finish

        session.exitstatus = finish(
            session.config, session.config.stash[RUN], exitstatus
        )


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if RUN in config.stash:
        from .summary import write_summary

        write_summary(terminalreporter, config.stash[RUN])


def pytest_unconfigure(config: pytest.Config) -> None:
    if RUN in config.stash:
        config.stash[RUN].close()
