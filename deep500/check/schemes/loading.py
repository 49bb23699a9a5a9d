"""From what a user writes (`LocalSGD(period=8)`, `my_scheme.py:Mine`) to a scheme, checked in a process of its own."""

from collections.abc import Callable, Mapping
from typing import Any

from ...contracts.scheme import Scheme
from ...definition_text import Names, definition_of
from ...distributed.optimizer_scheme import distributed_optimizer
from ...supervision.isolation import Died, isolated
from ..report import CheckResult
from . import SchemeReport, check_scheme
from .time_limit import time_limit

GRACE_S = 20.0  # for the process to say itself where it was at the deadline


def load_scheme(text: str, own: Mapping[str, Any] | None = None) -> Scheme:
    """A built-in scheme or a class in a file, with settings; the class may be a distributed optimizer.

    `own` are the classes of the recipe's file, by name.
    """
    names = Names(own or {}, distributed_optimizer)
    return definition_of(text, "schemes", names)


def check_scheme_elsewhere(
    text: str, ranks: int, framework: str, seed: int, timeout_s: float
) -> SchemeReport:
    """As `check_scheme`, in a new process with a deadline: a user's scheme may crash or never end."""
    arguments = {
        "text": text,
        "ranks": ranks,
        "framework": framework,
        "seed": seed,
        "limit_s": timeout_s,
    }
    try:
        answer = isolated(
            f"{__name__}:check_named", arguments, timeout_s + GRACE_S
        )
    except Died as error:
        fault = CheckResult("process", False, text=str(error))
        return SchemeReport(text, framework, "scheme", [fault], isolated=True)
    return SchemeReport.from_json(answer)


def check_named(
    text: str,
    ranks: int,
    framework: str,
    seed: int,
    limit_s: float,
    progress: Callable[[str], None],
) -> dict[str, Any]:
    """What the new process does."""
    scheme = load_scheme(text)
    with time_limit(limit_s):
        report = check_scheme(scheme, ranks, framework, seed, progress)
    return report.to_json() | {"isolated": True}
