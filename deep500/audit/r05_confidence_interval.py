"""Rule 5: confidence interval."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier, ReportedNumber
from ..errors import TooFewSamples

LEVEL = 0.95
MOST_VALUES = 100_000


class R05ConfidenceInterval(AuditRule):
    """A number says that it is deterministic, or how many values it stands on and their confidence interval."""

    why = (
        "Without an interval nobody can tell a difference from noise. 2 of 95 papers "
        "gave one (SC'15)."
    )
    advice = (
        "Give n, both ends of the interval and its level, or one sentence: “the 99 % "
        "intervals are within 5 % of all medians”."
    )
    breaks = """
[[number]]
name = "ping-pong latency"
kind = "cost"
value = 1.77
unit = "us"
"""
    keeps = """
[[number]]
name = "ping-pong latency"
kind = "cost"
value = 1.77
unit = "us"
n = 1000000
low = 1.765
high = 1.775
level = 0.99
interval = "ranks"
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost", "rate", "ratio", "quality"):
            has_ends = number.low is not None and number.high is not None
            if number.deterministic:
                yield number.passes("it is deterministic", "deterministic")
            elif number.interval == "not an interval":
                spread = "a spread of the values is no confidence interval"
                if number.n == 1:
                    spread = "one value, and how much it varies is not known"
                yield number.fails(f"{spread}{_by_values(number)}", "interval", "n")
            elif has_ends and number.n and number.level:
                yield number.passes(
                    f"n = {number.n} with an interval at {100 * number.level:g} %",
                    "n",
                    "low",
                    "high",
                )
            elif has_ends:
                yield number.warns("its interval has no n or no level", "n", "level")
            elif number.refused:
                reason = number.refused.removeprefix("no interval: ")
                yield number.warns(f"no interval: {reason}", "n")
            else:
                yield number.fails(
                    "neither deterministic nor with an interval",
                    "value",
                    "n",
                    "low",
                    "high",
                )


def _by_values(number: ReportedNumber) -> str:
    """What the published values give instead."""
    values = number.raw_values
    if not values or len(values) > MOST_VALUES:
        return ""
    from ..measure.statistics.intervals import interval  # imports NumPy

    try:
        found = interval(values, level=LEVEL)
    except TooFewSamples as reason:
        return f"; its values give none: {reason}"
    ends = f"[{found.low:.4g}, {found.high:.4g}]"
    unit = f" {number.unit}" if number.unit else ""
    return f"; the {len(values)} values have the median {found.estimate:.4g} {ends}{unit} at {100 * LEVEL:g} %"
