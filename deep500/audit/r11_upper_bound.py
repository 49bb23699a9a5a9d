"""Rule 11: upper bound."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


def is_bounded(unit: str | None) -> bool:
    """Whether a machine has a peak in this unit."""
    return bool(unit and re.search(r"((?i:flop|op|byte)s?|B)/s$|FLOPS$", unit))


class R11UpperBound(AuditRule):
    """A rate of operations or bytes is shown beside the upper bound of the machine."""

    why = "100 Gflop/s may be nearly all that the machine can do, or a hundredth of it."
    advice = (
        "Measure the peak of the same precision (`d5 bench operator` does) and give "
        "it beside the rate."
    )
    breaks = """
[[number]]
name = "matrix product"
kind = "rate"
value = 98.0
unit = "Gflop/s"
"""
    keeps = """
[[number]]
name = "matrix product"
kind = "rate"
value = 98.0
unit = "Gflop/s"
bound = 212.0
bound_name = "measured peak, float32"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("rate"):
            if not is_bounded(number.unit):
                continue
            if number.bound is not None:
                yield number.passes("its bound is given", "value", "bound")
            elif number.bound_reason:
                yield number.warns(f"no bound: {number.bound_reason}", "bound_reason")
            else:
                yield number.fails("no upper bound is given", "value", "bound")
        for speedup in dossier.speedup:
            if speedup.processes and (speedup.value or 0) > speedup.processes:
                yield speedup.warns(
                    "more than linear: the base case may be weak", "value", "processes"
                )
