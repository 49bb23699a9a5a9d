"""Rule 4: summary of ratios."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, ReportedNumber, ReportedSpeedup


class R04SummaryOfRatios(AuditRule):
    """Ratios are not averaged; the costs or rates behind them are."""

    why = (
        "The mean of speed-ups depends on the base, and favours whoever chooses it. A "
        "geometric mean has no simple meaning."
    )
    advice = (
        "Give the ratio of the summed times. If only ratios exist, take the geometric "
        "mean and say why."
    )
    breaks = """
[[speedup]]
name = "over 12 benchmarks"
value = 3.7
averaged = 12
summary = "arithmetic mean"
"""
    keeps = """
[[speedup]]
name = "over 12 benchmarks, sum of times by sum of times"
value = 1.9
averaged = 1
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        ratios: list[ReportedSpeedup | ReportedNumber] = [*dossier.speedup]
        ratios += dossier.numbers("ratio")
        for ratio in ratios:
            values = getattr(ratio, "averaged", None)
            means = ("arithmetic mean", "geometric mean", "harmonic mean")
            is_mean = ratio.summary in means and values != 1
            if not is_mean and (values or 1) == 1:
                yield ratio.passes("it is not a mean of ratios", "summary")
            elif ratio.summary == "geometric mean" and ratio.summary_reason:
                yield ratio.warns(
                    f"a geometric mean of ratios: {ratio.summary_reason}",
                    "summary_reason",
                )
            else:
                yield ratio.fails(
                    "it averages ratios instead of the times behind them",
                    "value",
                    "summary",
                    "summary_reason",
                )
