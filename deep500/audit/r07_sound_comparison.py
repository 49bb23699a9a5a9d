"""Rule 7: sound comparison."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, ReportedSpeedup

SOUND = re.compile(
    r"interval|overlap|t-test|anova|kruskal|wilcoxon|mann|rank|bootstrap|effect size|"
    r"equivalence|tost|seeds of both",
    re.I,
)


class R07SoundComparison(AuditRule):
    """Two results that vary are compared by their intervals or by a test."""

    why = "Two single means always differ, and one of them is always the smaller one."
    advice = (
        "Give the ratio with its interval, or say which test was done; measure both "
        "in turn, in one session."
    )
    breaks = """
[[comparison]]
name = "ours is faster"
ours = "ours"
other = "baseline"
method = "the means are 12.3 and 12.9 ms"
"""
    keeps = """
[[comparison]]
name = "ours is faster"
ours = "ours"
other = "baseline"
method = "95 % confidence intervals of the medians do not overlap"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for comparison in dossier.comparison:
            if comparison.method and SOUND.search(comparison.method):
                yield comparison.passes(f"by {comparison.method}", "method")
            elif comparison.method:
                yield comparison.fails(
                    f"“{comparison.method}” does not tell a difference from noise",
                    "method",
                )
            else:
                yield comparison.fails("how it was decided is not said", "method")
        for speedup in dossier.speedup:
            yield self._judge_ratio(speedup)

    @staticmethod
    def _judge_ratio(speedup: ReportedSpeedup) -> AuditFinding:
        low, high = speedup.low, speedup.high
        decided = speedup.verdict in ("faster", "slower")
        if low is None or high is None:
            if speedup.verdict == "inconclusive":
                return speedup.passes(
                    "no interval, and nothing is concluded", "verdict"
                )
            return speedup.fails("a ratio without an interval", "value", "low", "high")
        if decided and low < 1 < high:
            return speedup.fails(
                f"its interval contains 1, and it is called {speedup.verdict}",
                "low",
                "high",
                "verdict",
            )
        return speedup.passes("the ratio has an interval", "low", "high")
