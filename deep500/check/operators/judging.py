"""All checks of one operator, in order: its own examples in every dtype, then harder inputs."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..report import CheckReport, CheckResult
from .checks import attempted, checks, regime_checks, slopes
from .examples import Example
from .formats import checked_dtypes
from .processes import ProcessLost
from .runner import Runner
from .subjects import free_rank, is_ours

DTYPES = ("float64", "float32")
Progress = Callable[[str], None]


def check_examples(
    examples: Sequence[Example],
    runner: Runner,
    framework: str,
    dtypes: Sequence[str] = DTYPES,
    progress: Progress | None = None,
    isolated: bool = False,
    keep_rank: bool = False,
) -> CheckReport:
    """Check one operator with the inputs of these examples, and with harder ones made from them."""
    dtypes = checked_dtypes(dtypes)
    operator = examples[0].operator
    inputs = examples[0].inputs
    results: list[CheckResult] = []
    kernel = "user's"
    try:
        if is_ours(operator):
            kernel = runner.kernel(operator, inputs)
        for check in _all_checks(examples, runner, dtypes, progress, keep_rank):
            results.append(check)
    except ProcessLost as error:
        results.append(ended(error))
    name = type(operator).__name__
    return CheckReport("operator", name, framework, kernel, results, isolated)


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings: harder inputs overflow and divide by 0."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def _all_checks(
    examples: Sequence[Example],
    runner: Runner,
    dtypes: Sequence[str],
    progress: Progress | None,
    keep_rank: bool,
) -> Iterator[CheckResult]:
    has_run = False
    for example in examples:
        for dtype, same in in_dtypes(example, dtypes):
            if progress:
                progress(f"{example.name} in {dtype}")
            for check in checks(runner, same):
                has_run = has_run or check.name == "shape"
                yield check
        # A wrong derivative shows in float64 alone.
        if has_run and example.floats and "float64" not in dtypes:
            yield attempted("differences", slopes, runner, example.cast("float64"), ())
    if not has_run:
        return  # what is not available here has no verdict, whatever of it holds elsewhere
    for example in examples:
        free = free_rank(example.operator) and not keep_rank
        for dtype, same in in_dtypes(example, dtypes):
            if progress:
                progress(f"{example.name} in {dtype}, with harder inputs")
            yield from regime_checks(runner, same, free)


def in_dtypes(example: Example, dtypes: Sequence[str]) -> list[tuple[str, Example]]:
    """The example in every dtype; once where it has no float inputs."""
    if not example.floats:
        return [("float32", example)]
    return [(dtype, example.cast(dtype)) for dtype in dtypes]


def ended(error: ProcessLost) -> CheckResult:
    """The check for a process that ended: a crash or a malformed answer is wrong, a time-out decides nothing."""
    if error.wrong:
        return CheckResult("process", False, text=str(error))
    return CheckResult("process", None, text=str(error), decided=False)
