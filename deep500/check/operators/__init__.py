"""Is an operator right, forward and backward? Checks with bounds that follow from rounding, each with a verdict.

subjects.py      from what a user names to operators and examples
examples.py      an operator with inputs, and what is right for them
regimes.py       harder inputs made from these
checks.py        the promises; batches.py and robustness.py hold some, comparing.py and bounds.py judge arrays
isolated.py      a user's code judged from another process: processes.py asks, server.py answers
functions.py     plain functions of arrays or tensors, as operators and references
opaque.py        rounding inside of code without a formula
runner.py       an operator as a framework runs it
oracle.py       what is right by an operator's own code or by a reference
"""

from collections.abc import Sequence
from typing import Any

from ...frameworks import framework as find_framework
from ...frameworks import framework_names
from ...supervision.serving import Progress
from ..report import Reports
from .array_checks import check_outputs as check_outputs
from .differences import differences as differences
from .examples import Reference
from .formats import checked_dtypes
from .isolated import CheckRequest, address_of, check_elsewhere
from .judging import DTYPES, check_examples, quiet
from .runner import OperatorRunner
from .subjects import as_domain, examples_for

TIMEOUT_S = 120.0


def check_operator(
    operator: Any,
    framework: str | Sequence[str] = "pytorch",
    inputs: Sequence[Any] | None = None,
    *,
    reference: Reference | None = None,
    seed: int = 0,
    dtypes: Sequence[str] | str = DTYPES,
    domain: tuple[float, float] | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Progress | None = None,
) -> Reports:
    """Check an operator (a class: all its cases), or a function with a reference, as frameworks run it.

    `inputs` are arrays, or shapes to be drawn, in the operator's order. `reference` is a function of float64 arrays;
    the operator's own formula is the reference where there is none. `domain` is where the inputs may lie. Code that
    another process can import runs there, with a deadline, and is judged here; built-in operators, and code that only
    this process has, run here (`isolated` of the report says so).
    """
    names = framework_names(framework)
    dtypes = checked_dtypes(dtypes)
    checked_domain = None if domain is None else as_domain(domain)
    address = address_of(operator)
    reference_address = address_of(reference)
    is_importable = reference is None or reference_address is not None
    reports = []
    for name in names:
        if address and is_importable:
            request = CheckRequest(
                address,
                name,
                reference_address,
                inputs,
                dtypes=dtypes,
                seed=seed,
                domain=checked_domain,
                timeout_s=timeout_s,
            )
            reports.append(check_elsewhere(request, progress))
            continue
        with quiet():
            examples = examples_for(
                operator, inputs, reference, name, seed, checked_domain
            )
            runner = OperatorRunner(find_framework(name))
            report = check_examples(examples, runner, name, dtypes, progress)
            reports.append(report)
    return Reports("operator", reports[0].subject, reports)
