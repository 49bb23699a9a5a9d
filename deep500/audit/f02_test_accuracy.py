"""Way 2: test accuracy."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


class F02TestAccuracy(AuditRule):
    """The quality of a trained model is reported on test data."""

    why = (
        "Training accuracy measures memory: a network that learnt its examples by "
        "heart has 100 %."
    )
    advice = (
        "Report the metric on data that neither training nor any choice has seen, and "
        "name the split of every metric."
    )
    breaks = """
[[number]]
name = "accuracy"
kind = "quality"
value = 99.8
unit = "%"
split = "training"
"""
    keeps = """
[[number]]
name = "accuracy"
kind = "quality"
value = 76.1
unit = "%"
split = "test"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        qualities = dossier.numbers("quality")
        tested = [number for number in qualities if number.split == "test"]
        if tested:
            for number in tested:
                yield number.passes("on test data", "split", "value")
            return
        for number in qualities:
            where = f"on {number.split} data" if number.split else "on unknown data"
            judge = number.warns if number.split == "validation" else number.fails
            yield judge(f"{where}, and nothing on test data", "split", "value")
