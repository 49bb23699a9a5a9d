"""The options of the plugin, and those of pytest-benchmark that it understands where that is not installed."""

import argparse
import os
from importlib.util import find_spec

import pytest

TASK = "DEEP500_PYTEST_TASK"  # the file with what a further process is to measure


def takes_over(plugins: pytest.PytestPluginManager) -> bool:
    """Whether the fixture `benchmark` is ours: pytest-benchmark is not installed, or was switched off."""
    return plugins.is_blocked("benchmark") or find_spec("pytest_benchmark") is None


def add_options(parser: pytest.Parser, with_alias: bool) -> None:
    group = parser.getgroup("deep500", "benchmarks with verdicts")
    add = group.addoption
    add(
        "--d5-save",
        nargs="?",
        const="local",
        metavar="NAME",
        help="save all times as a bundle in .d5/NAME (local); write --d5-save=NAME",
    )
    add(
        "--d5-against",
        metavar="NAME",
        help="compare with the newest bundle in .d5/NAME, a folder or a run of `d5 list`; fail if anything is slower",
    )
    add(
        "--d5-processes",
        type=processes,
        metavar="N",
        help="how many processes run the measuring tests (6 with --d5-save or --d5-against, else 1)",
    )
    add(
        "--d5-budget",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="the time to spend on one measurement in one process (1)",
    )
    add(
        "--d5-margin",
        type=share,
        default=0.02,
        metavar="SHARE",
        help="the relative difference that does not matter (0.02)",
    )
    add(
        "--d5-inconclusive",
        choices=("say", "fail"),
        default="say",
        help="what a comparison without a verdict does (say)",
    )
    add(
        "--d5-once",
        action="store_true",
        help="call every measured function once and time nothing",
    )
    if with_alias:
        _add_alias(parser)


def processes(text: str) -> int:
    if not (text.isdigit() and 1 <= int(text) <= 100):
        raise argparse.ArgumentTypeError(f"{text}: give 1 to 100")
    return int(text)


def seconds(text: str) -> float:
    if not 0 < float(text) < 1e6:
        raise argparse.ArgumentTypeError(f"{text}: give seconds, more than 0")
    return float(text)


def share(text: str) -> float:
    if not 0 <= float(text) < 1e6:
        raise argparse.ArgumentTypeError(f"{text}: give a share such as 0.02")
    return float(text)


def _add_alias(parser: pytest.Parser) -> None:
    """What suites of pytest-benchmark have in their configuration."""
    group = parser.getgroup("deep500")
    group.addoption(
        "--benchmark-skip", action="store_true", help="leave out tests that measure"
    )
    group.addoption(
        "--benchmark-only", action="store_true", help="run only tests that measure"
    )
    group.addoption(
        "--benchmark-disable",
        action="store_true",
        dest="d5_once",
        help="the same as --d5-once",
    )
    group.addoption(
        "--benchmark-enable",
        action="store_false",
        dest="d5_once",
        help="measure, although --benchmark-disable comes before",
    )


def left_out(
    config: pytest.Config, items: list[pytest.Item], fixtures: set[str]
) -> list[pytest.Item]:
    """The tests that are not to run: by --benchmark-skip or -only, or because a further process only measures."""
    only = config.getoption("benchmark_only", False)
    skip = config.getoption("benchmark_skip", False) and not only
    wanted = _tests_of_the_task()
    if not (only or skip or wanted is not None):
        return []
    unwanted = []
    for item in items:
        measures = not fixtures.isdisjoint(getattr(item, "fixturenames", ()))
        if wanted is not None:
            is_wanted = item.nodeid in wanted
        else:
            is_wanted = measures if only else not measures
        if not is_wanted:
            unwanted.append(item)
    return unwanted


def _tests_of_the_task() -> set[str] | None:
    path = os.environ.get(TASK)
    if path is None:
        return None
    from .further_processes import read_task

    return set(read_task(path).tests)
