"""The IPython extension: `%d5 …` as on a command line, and pages for results, comparisons, checks and networks."""

import shlex
from collections.abc import Callable
from typing import Any

from ..reports.notebook import mimebundle

# module and name of a class, and the function that makes its report
SHOWN = (
    ("deep500.measure.results", "Result", "result_report"),
    ("deep500.measure.statistics.comparison", "Comparison", "comparison_report"),
    ("deep500.check.report", "CheckReport", "check_report"),
    ("deep500.check.report", "Reports", "check_report"),
    ("deep500.contracts.network", "Network", "network_report"),
)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext deep500` calls; classes are named, so that nothing of them is imported before one is shown."""
    shell.register_magic_function(d5_magic, "line", "d5")
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name, function in SHOWN:
        formatter.for_type_by_name(module, name, _shown_by(function))


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext deep500` calls."""
    formatter = shell.display_formatter.mimebundle_formatter
    for module, name, _ in SHOWN:
        key = (module, name)
        formatter.deferred_printers.pop(key, None)
    shell.magics_manager.magics["line"].pop("d5", None)


def d5_magic(line: str) -> None:
    """Run `d5` with these words in this process; statements are timed in processes of their own, as always."""
    from ..cli import main
    from ..errors import Deep500Error

    try:
        words = shlex.split(line)
    except ValueError as error:
        raise Deep500Error(f"%d5 {line}: {error}") from None
    main(words)


def _shown_by(function: str) -> Callable[..., dict[str, str]]:
    def show(thing: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from . import reports

        report = getattr(reports, function)(thing)
        return mimebundle(report, include, exclude)

    return show
