"""Way 7: operations per second."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

OPERATIONS = re.compile(r"ops?/s$|(fl)?ops$", re.I)


class F07OperationsPerSecond(AuditRule):
    """A rate of operations names their precision, and the operations until the result."""

    why = (
        "The 3e9 transistors of a laptop switch 2.4e9 times a second: 7 exa-ops, and "
        "no result."
    )
    advice = (
        "Count floating-point operations of the algorithm, name precision and "
        "sparsity, and give how many the target needs."
    )
    breaks = """
[[number]]
name = "deep learning at exascale"
kind = "rate"
value = 1.13
unit = "Exaop/s"
scope = "application"
"""
    keeps = """
[[number]]
name = "climate segmentation"
kind = "rate"
value = 1.13
unit = "Eflop/s"
scope = "application"
precision = "float16"
sparse = false
operations = 3.1e18
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("rate"):
            if not number.unit or not OPERATIONS.search(number.unit):
                continue
            if not number.precision:
                yield number.fails(
                    "operations of unknown precision", "unit", "precision"
                )
            elif number.operations is None:
                yield number.fails(
                    "how many operations the result needs is not said",
                    "value",
                    "operations",
                )
            elif number.unit.lower().endswith("flops"):
                yield number.warns("“flops” may be a count or a rate", "unit")
            else:
                yield number.passes(
                    f"{number.precision}, {number.operations:g} operations",
                    "precision",
                    "operations",
                )
