"""Rule 8: right statistic."""

from collections.abc import Iterator

from ..contracts.audit_rule import AuditRule
from ..contracts.declaration import AuditFinding
from ..contracts.dossier import Dossier


def least_values(q: float) -> int:
    """How many values an interval at 95 % of this quantile needs: q^n + (1 - q)^n is at most 0.05."""
    n = 2
    while q**n + (1 - q) ** n > 0.05 and n < 100_000:
        n += 1
    return n


class R08RightStatistic(AuditRule):
    """The statistic fits the question: latencies have quantiles, and values with several modes more than one number."""

    why = (
        "A user of a service meets its slowest calls. A median of two modes describes "
        "no call that ever happened."
    )
    advice = (
        "Give p90 and p99 of a latency (at least 29 and 299 single calls for an "
        "interval at 95 %), and show the modes."
    )
    breaks = """
[[number]]
name = "latency of a request"
kind = "cost"
value = 4.2
unit = "ms"
n = 100
latency = true
summary = "arithmetic mean"
"""
    keeps = """
[[number]]
name = "latency of a request"
kind = "cost"
value = 4.2
unit = "ms"
n = 5000
latency = true
summary = "median"
quantiles = [0.9, 0.99]
"""

    def judge(self, dossier: Dossier) -> Iterator[AuditFinding]:
        for number in dossier.numbers("cost"):
            quantiles = number.quantiles or ()
            tails = [q for q in quantiles if q > 0.5]
            if number.latency and not tails:
                yield number.fails("a latency without its tail", "summary", "quantiles")
            elif tails and number.n is None:
                yield number.warns("quantiles of how many values?", "quantiles", "n")
            elif tails and (number.n or 0) < least_values(max(tails)):
                yield number.fails(
                    f"p{100 * max(tails):g} of {number.n} values; an interval at 95 % needs "
                    f"{least_values(max(tails))}",
                    "quantiles",
                    "n",
                )
            elif tails and (number.timed_calls or 1) > 1:
                yield number.fails(
                    f"quantiles of means of {number.timed_calls} calls, not of calls",
                    "quantiles",
                    "timed_calls",
                )
            elif (number.modes or 1) > 1:
                yield number.warns(
                    f"one number for values with {number.modes} modes", "modes", "value"
                )
            elif tails or number.modes == 1:
                yield number.passes("one mode, or its quantiles are shown", "quantiles")
