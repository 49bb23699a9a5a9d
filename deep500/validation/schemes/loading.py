"""From what a user writes (`LocalSGD(period=8)`, `my_scheme.py:Mine`) to a scheme, checked in a process of its own."""

from collections.abc import Callable
from typing import Any

from ...contracts.definition_text import create, scheme_of
from ...contracts.scheme import Scheme
from ...custom.loading import load_class
from ...distributed.optimizer import DistributedOptimizer
from ...distributed.optimizer_scheme import OptimizerScheme
from ..checking.report import CheckResult
from ..isolation import Died, isolated
from . import SchemeReport, check_scheme


def load_scheme(text: str) -> Scheme:
    """A built-in scheme with its settings; or a class in a file: a scheme, or a distributed optimizer."""
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        return scheme_of(text)
    scheme_class = load_class(
        file, name, Scheme | DistributedOptimizer, "scheme"
    )
    if issubclass(scheme_class, DistributedOptimizer):
        return OptimizerScheme(scheme_class)
    return create(scheme_class)


def check_scheme_elsewhere(
    text: str, ranks: int, framework: str, seed: int, timeout_s: float
) -> SchemeReport:
    """As `check_scheme`, in a new process with a deadline: a user's scheme may crash or never end."""
    arguments = {
        "text": text,
        "ranks": ranks,
        "framework": framework,
        "seed": seed,
    }
    try:
        answer = isolated(f"{__name__}:check_named", arguments, timeout_s)
    except Died as error:
        fault = CheckResult("process", False, text=str(error))
        return SchemeReport(text, framework, "scheme", [fault], isolated=True)
    return SchemeReport.from_json(answer)


def check_named(
    text: str,
    ranks: int,
    framework: str,
    seed: int,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """What the new process does."""
    report = check_scheme(load_scheme(text), ranks, framework, seed, progress)
    return report.to_json() | {"isolated": True}
