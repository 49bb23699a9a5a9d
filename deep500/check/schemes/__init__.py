"""Is a communication scheme right? Small training runs on virtual ranks, each promise with a verdict.

trials.py      the runs that checks are made of: a small network
linear.py      the same with gradients that never change
apart.py       ranks that share what they send alone
resuming.py    runs that go on in a new process
variants.py    a scheme with other codecs
checks.py      the promises
faults.py      an exception in words
time_limit.py  ends code that never does
loading.py     from what a user writes to a scheme
"""

from collections.abc import Sequence

from ...contracts.scheme import Scheme
from ...distributed.optimizer_scheme import scheme_given
from ...errors import Deep500Error, Incomplete, raise_if_internal
from ...frameworks import framework_names
from ...supervision.serving import Progress, silent
from ..report import CheckReport, CheckResult, Reports
from .checks import CHECKS
from .faults import reason
from .time_limit import Overdue
from .trials import Trials


def check_scheme(
    scheme: Scheme | str | type,
    framework: str | Sequence[str] = "reference",
    *,
    ranks: int = 4,
    seed: int = 0,
    progress: Progress | None = None,
) -> Reports:
    """Check a scheme on so many virtual ranks: does it train, agree, count every rank, resume, name lost ranks?"""
    frameworks = framework_names(framework)
    scheme = scheme_given(scheme)
    reports = []
    for name in frameworks:
        report = check_on_framework(scheme, ranks, name, seed, progress or silent)
        reports.append(report)
    return Reports("scheme", str(scheme), reports)


def check_on_framework(
    scheme: Scheme, ranks: int, framework: str, seed: int, progress: Progress
) -> CheckReport:
    """The report on a scheme whose ranks all run on this framework."""
    if ranks < 2:
        raise Deep500Error(f"a scheme is checked on 2 ranks or more, not on {ranks}")
    scheme.check(ranks)
    trials = Trials(scheme, ranks, framework, seed)
    checks: list[CheckResult] = []
    for name, promise in CHECKS.items():
        progress(name)
        try:
            checks.append(promise(trials))
        except Incomplete:
            raise
        except Exception as error:  # a user's scheme may raise anything
            raise_if_internal(error)
            checks.append(CheckResult(name, False, text=reason(error)))
            if isinstance(error, Overdue) or not trials.has_finished:
                break  # nothing else can be said about it
    return CheckReport("scheme", str(scheme), framework, "scheme", checks)
