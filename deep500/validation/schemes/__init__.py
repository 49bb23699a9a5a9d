"""Is a communication scheme right? Small training runs on virtual ranks, each promise with a verdict.

trials.py    the runs that checks are made of
checks.py    the promises
loading.py   from what a user writes to a scheme
"""

from collections.abc import Callable

from ...contracts.scheme import Scheme
from ...errors import Deep500Error, one_line
from ..checking.report import CheckResult
from ..checking.report import OperatorReport as SchemeReport
from .checks import CHECKS
from .trials import Trials

Progress = Callable[[str], None]


def check_scheme(
    scheme: Scheme,
    ranks: int = 4,
    framework: str = "reference",
    seed: int = 0,
    progress: Progress | None = None,
) -> SchemeReport:
    """Check a scheme on so many virtual ranks: does it train, agree, count every rank, resume, name lost ranks?"""
    if ranks < 2:
        raise Deep500Error(
            f"a scheme is checked on 2 ranks or more, not on {ranks}"
        )
    scheme.check(ranks)
    trials = Trials(scheme, ranks, framework, seed)
    checks: list[CheckResult] = []
    for name, promise in CHECKS.items():
        if progress is not None:
            progress(name)
        try:
            checks.append(promise(trials))
        except Exception as error:  # a user's scheme may raise anything
            checks.append(
                CheckResult(name, False, text=one_line(error, kind=True))
            )
    return SchemeReport(str(scheme), framework, "scheme", checks)
