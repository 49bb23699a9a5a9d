"""Newer cheat 5: wrong peak."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N05WrongPeak(AuditRule):
    """A share of the peak is relative to the peak of the same precision and sparsity."""

    why = (
        "float16 by the peak of TF32, or sparse peaks of dense work: half of the "
        "published utilisations used a wrong one."
    )
    advice = (
        "Take the peak that was measured with the precision of the kernel, dense if "
        "the operands are."
    )
    breaks = """
[[number]]
name = "bfloat16 training"
kind = "rate"
value = 180.0
unit = "Tflop/s"
precision = "bfloat16"
bound = 156.0
bound_precision = "tf32"
"""
    keeps = """
[[number]]
name = "bfloat16 training"
kind = "rate"
value = 180.0
unit = "Tflop/s"
precision = "bfloat16"
bound = 312.0
bound_precision = "bfloat16"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("rate"):
            if number.bound is None or not number.precision:
                continue
            wrong_kind = bool(number.sparse) != bool(number.bound_sparse)
            if not number.bound_precision:
                yield number.warns(
                    "the precision of its peak is not said", "bound", "bound_precision"
                )
            elif (
                number.bound_precision.lower() != number.precision.lower() or wrong_kind
            ):
                yield number.fails(
                    f"{number.precision} by the peak of {number.bound_precision}",
                    "precision",
                    "bound_precision",
                    "bound_sparse",
                )
            else:
                yield number.passes("the right peak", "bound_precision")
