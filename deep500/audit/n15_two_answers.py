"""Newer cheat 15: two answers."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier

MARGIN = 0.05


class N15TwoAnswers(AuditRule):
    """A verdict does not depend on whether medians or means are compared."""

    why = (
        "A call that takes 1 in 60 % and 5 in 40 % of the cases has half the median, "
        "and 1.3 times the mean, of one that takes 2."
    )
    advice = (
        "Say which of the two the user pays for, and withhold a verdict if they "
        "disagree."
    )
    breaks = """
[[speedup]]
name = "B against A"
value = 0.5
verdict = "faster"
of_medians = 0.5
of_means = 1.31
"""
    keeps = """
[[speedup]]
name = "B against A"
value = 0.5
verdict = "faster"
of_medians = 0.5
of_means = 0.52
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for speedup in dossier.speedup:
            medians, means = speedup.of_medians, speedup.of_means
            if medians is None or means is None:
                continue
            disagree = (medians - 1) * (means - 1) < 0
            apart = abs(medians - means) > MARGIN
            decided = speedup.verdict in ("faster", "slower")
            if disagree and apart and decided:
                text = f"{medians:.4g} by medians, {means:.4g} by means"
                noisy = speedup.low is not None
                judge = speedup.warns if noisy else speedup.fails
                yield judge(text, "of_medians", "of_means", "verdict")
            else:
                yield speedup.passes(
                    "medians and means agree", "of_medians", "of_means"
                )
