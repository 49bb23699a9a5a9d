"""Rule 12: plots."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class R12Plots(AuditRule):
    """A plot connects points only where one may interpolate, and shows the variation."""

    why = (
        "A line between 32 and 64 processes promises a value for 48 that nobody "
        "measured."
    )
    advice = (
        "Draw points for categories and for processor counts; draw intervals, or "
        "state that they are smaller than something."
    )
    breaks = """
[[plot]]
name = "figure 3"
lines = true
interpolation = false
intervals = "none"
"""
    keeps = """
[[plot]]
name = "figure 3"
lines = false
intervals = "drawn"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for plot in dossier.plot:
            if plot.lines and not plot.interpolation:
                yield plot.fails(
                    "lines connect points between which nothing is known",
                    "lines",
                    "interpolation",
                )
            elif plot.intervals not in ("drawn", "stated"):
                yield plot.fails("the variation is not shown", "intervals")
            else:
                yield plot.passes("no false lines, and intervals", "lines", "intervals")
