"""Is an operator right, forward and backward? Checks with bounds that follow from rounding, each with a verdict."""

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import Deep500Error
from ...frameworks import framework as find_framework
from .checks import (
    Subject,
    attempted,
    checks,
    slopes,
)
from .comparing import check_outputs as check_outputs
from .differences import differences as differences
from .examples import Example, Reference
from .formats import FORMATS
from .report import Check as Check
from .report import OperatorReport as OperatorReport
from .subjects import examples_for

DTYPES = ("float64", "float32")
OURS = f"{__name__.split('.')[0]}.operators."


def check_operator(
    operator: Any,
    framework: str = "pytorch",
    inputs: Sequence[Any] | None = None,
    reference: Reference | None = None,
    seed: int = 0,
    dtypes: Sequence[str] = DTYPES,
    progress: Callable[[str], None] | None = None,
) -> OperatorReport:
    """Check an operator (a class: all its cases), or a function with a reference, as a framework runs it.

    `inputs` are arrays, or shapes to be drawn, in the operator's order. `reference` is a function of float64 arrays;
    the operator's own formula is the reference where there is none.
    """
    examples = examples_for(operator, inputs, reference, framework, seed)
    return check_examples(examples, framework, dtypes, progress)


def check_examples(
    examples: Sequence[Example],
    framework: str,
    dtypes: Sequence[str],
    progress: Callable[[str], None] | None = None,
) -> OperatorReport:
    """Check one operator with the inputs of these examples, as a framework runs it."""
    subject = Subject(find_framework(framework))
    first = examples[0].operator
    ours = type(first).__module__.startswith(OURS)
    kernel = subject.framework.kernel(first, inputs=examples[0].inputs)[1] if ours else "user's"
    report = OperatorReport(type(first).__name__, framework, kernel)
    for example in examples:
        for dtype, same in in_dtypes(example, dtypes):
            if progress:
                progress(f"{example.name} in {dtype}")
            report.checks.extend(checks(subject, same))
        if example.floats and "float64" not in dtypes:  # a wrong derivative shows there alone
            report.checks.append(
                attempted("differences", slopes, subject, example.cast("float64"), ())
            )
    return report


def in_dtypes(example: Example, dtypes: Sequence[str]) -> list[tuple[str, Example]]:
    """The example in every dtype; once where it has no float inputs."""
    if unknown := [d for d in dtypes if d not in FORMATS]:
        raise Deep500Error(
            f"{unknown[0]!r} is no dtype to check in: choose from {', '.join(FORMATS)}"
        )
    return [(d, example.cast(d)) for d in dtypes] if example.floats else [("float32", example)]
