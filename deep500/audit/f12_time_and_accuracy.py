"""Way 12: time and accuracy."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F12TimeAndAccuracy(AuditRule):
    """Systems that train are compared by time and quality, both for both of them."""

    why = "Whoever may choose between time and accuracy wins every comparison."
    advice = (
        "Give time and quality of both, at one operating point that is chosen "
        "beforehand."
    )
    breaks = """
[[comparison]]
name = "state of the art"
ours = "ours"
other = "baseline"
trained = true
time = true
quality = false
"""
    keeps = """
[[comparison]]
name = "state of the art"
ours = "ours"
other = "baseline"
trained = true
time = true
quality = true
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for comparison in dossier.comparison:
            if not comparison.trained:
                continue
            if comparison.time and comparison.quality:
                yield comparison.passes("by time and quality", "time", "quality")
            else:
                missing = "quality" if comparison.time else "time"
                yield comparison.fails(
                    f"the {missing} of both is not given", "time", "quality"
                )
