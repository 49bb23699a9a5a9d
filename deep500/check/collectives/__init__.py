"""Is a collective right? Its operations on virtual ranks, each promise with a verdict.

subjects.py    which operations and numbers of ranks are checked
cases.py       one operation on so many ranks: inputs, run, and what must come out
promises.py    what is promised, each with the cases on which it is tried
side_by_side.py   two programs of a rank at once
buffers.py     what a program allocates
"""

from collections.abc import Iterator

from ...contracts.collective import Collective
from ...definition_text import definition_given
from ...errors import Deep500Error, Incomplete, raise_if_internal
from ...supervision.serving import Progress, silent
from ..report import CheckReport, CheckResult, Reports
from ..schemes.faults import reason
from .promises import PROMISES, Promise
from .subjects import CheckedOperation, check_subject


def check_collective(
    collective: Collective | str | type,
    *,
    ranks: int = 17,
    seed: int = 0,
    progress: Progress | None = None,
) -> Reports:
    """Check all operations of a collective on 1 to `ranks` virtual ranks: values, bits, blocking and cost."""
    subject: Collective = definition_given(collective, "collectives")
    if ranks < 2:
        raise Deep500Error(
            f"a collective is checked on 2 ranks or more, not on {ranks}"
        )
    check_subject(subject, ranks)
    results = [*checks(subject, ranks, seed, progress or silent)]
    report = CheckReport("collective", str(subject), "", "collective", results)
    return Reports("collective", str(subject), [report])


def checks(
    collective: Collective, ranks: int, seed: int, progress: Progress
) -> Iterator[CheckResult]:
    """Every promise for every operation."""
    for operation in collective.operations:
        subject = CheckedOperation(collective, operation, ranks, seed)
        for promise in PROMISES:
            progress(f"{operation}: {promise.name}")
            yield _kept(promise, subject)


def _kept(promise: Promise, subject: CheckedOperation) -> CheckResult:
    """The first case on which a promise is not kept, or how many were tried."""
    name, operation = promise.name, subject.operation
    if why := promise.unless(subject):
        return CheckResult(name, None, text=why, case=operation)
    count = 0
    for case in promise.cases(subject):
        count += 1
        try:
            fault = promise.fault(case)
        except Incomplete:
            raise
        except Exception as error:  # a user's collective may raise anything
            raise_if_internal(error)
            fault = reason(error)
        if fault:
            return CheckResult(name, False, text=fault, case=str(case))
    ok = True if count else None
    text = f"{count} runs" if count else "there is no number of ranks for it"
    return CheckResult(name, ok, text=text, case=operation)
