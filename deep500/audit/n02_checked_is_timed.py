"""Newer cheat 2: checked is timed."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class N02CheckedIsTimed(AuditRule):
    """The outputs that are checked are those of the timed calls, or of the timed function itself."""

    why = (
        "A submission may compute properly when it is checked, and return old memory "
        "when it is timed."
    )
    advice = (
        "Check the outputs of the timed calls; fill the output buffers with NaN "
        "before each."
    )
    breaks = """
[[number]]
name = "my kernel"
kind = "cost"
value = 0.4
unit = "ms"
scope = "kernel"
checked = "other calls"
"""
    keeps = """
[[number]]
name = "my kernel"
kind = "cost"
value = 1.7
unit = "ms"
scope = "kernel"
checked = "the timed calls"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate"):
            if number.checked in (
                "the timed calls",
                "the timed function, in other calls",
            ):
                yield number.passes(f"checked: {number.checked}", "checked")
            elif number.checked:
                yield number.fails(f"checked: {number.checked}", "checked")
