"""Rule 6: normality assumed."""

import re
from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, ReportedNumber

EXCUSE = re.compile(r"central limit|\b\d+ (samples|values|runs)|n *(>|>=|=) *\d", re.I)


class R06NormalityAssumed(AuditRule):
    """An interval that needs the normal distribution comes with a check of it, and n > 30 is none."""

    why = (
        "Times have heavy right tails; for those of a ping-pong, 30 to 40 values are "
        "far from enough for a mean to be normal."
    )
    advice = (
        "Use ranks (the median with its binomial interval), or show the Shapiro-Wilk "
        "test and a Q-Q plot."
    )
    breaks = """
[[number]]
name = "time per step"
kind = "cost"
value = 12.3
unit = "ms"
n = 30
low = 12.1
high = 12.5
level = 0.95
interval = "normal distribution"
normality = "30 samples are normal by the central limit theorem"
"""
    keeps = """
[[number]]
name = "time per step"
kind = "cost"
value = 12.3
unit = "ms"
n = 30
low = 12.1
high = 12.5
level = 0.95
interval = "ranks"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.number:
            if number.interval in ("ranks", "bootstrap"):
                yield number.passes(
                    f"its interval stands on {number.interval}", "interval"
                )
            elif number.interval == "normal distribution":
                yield self._judge_normal(number)
            elif number.low is not None and number.interval is None:
                yield number.warns(
                    "what its interval stands on is not said", "interval"
                )

    @staticmethod
    def _judge_normal(number: ReportedNumber) -> AuditFinding:
        how = number.normality
        if not how:
            return number.fails(
                "the normal distribution is assumed and not checked",
                "interval",
                "normality",
            )
        if EXCUSE.search(how):
            return number.fails(
                "a number of values does not make them normal", "normality", "n"
            )
        if how.startswith("assumed"):
            return number.warns(f"the normal distribution is {how}", "normality", "n")
        return number.passes(f"checked by {how}", "normality")
