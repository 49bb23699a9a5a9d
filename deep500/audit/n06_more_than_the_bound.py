"""Newer cheat 6: more than the bound."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

SLACK = 1.05  # a measured peak is not exact


class N06MoreThanTheBound(AuditRule):
    """No rate is above its physical bound."""

    why = (
        "3530 GB/s from a memory of 864 GB/s: the data never left the cache (llm.c "
        "851)."
    )
    advice = (
        "Look for caches, skipped work, a wrong count of operations or a wrong peak."
    )
    breaks = """
[[number]]
name = "copy"
kind = "rate"
value = 3530.0
unit = "GB/s"
bound = 864.0
"""
    keeps = """
[[number]]
name = "copy"
kind = "rate"
value = 790.0
unit = "GB/s"
bound = 864.0
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("rate"):
            if number.value is None or number.bound is None or number.bound <= 0:
                continue
            share = number.value / number.bound
            certain = (number.low or number.value) / number.bound
            text = f"{100 * share:.4g} % of its bound"
            if share > SLACK and number.bound_soft:
                yield number.warns(
                    f"{text}, which is not a strict one: data in a cache, or a fit",
                    "value",
                    "bound",
                    "bound_name",
                )
            elif certain > SLACK:
                yield number.fails(text, "value", "bound", "bound_name")
            elif share > SLACK:
                yield number.warns(text, "value", "low", "bound")
            else:
                yield number.passes(text, "value", "bound")
