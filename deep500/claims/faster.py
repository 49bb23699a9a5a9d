"""One cost of a run is smaller than another by a factor: `d5.claims.Faster(a, b, 1.2)`."""

import math
from collections.abc import Sequence

from ..contracts.claim import Claim, Judgement, Summary, metric_words
from ..contracts.metric import Metric
from ..errors import Deep500Error, TooFewSamples
from ..measure.statistics.intervals import mean_interval

TIMED = ("cost", "rate")


class Faster(Claim):
    """In every seed `a` is at least `factor` times as fast as `b`; both are costs, or both are rates.

    The logarithms of the ratios, one for each seed, have a Student's t-interval, which must lie beyond the factor.
    """

    a: Metric
    b: Metric
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        kinds = (self.a.kind, self.b.kind)
        if kinds[0] != kinds[1] or kinds[0] not in TIMED:
            raise Deep500Error(
                f"Faster compares two costs or two rates, and {metric_words(self.a)} is a {kinds[0]}, "
                f"{metric_words(self.b)} a {kinds[1]}"
            )
        if not 0 < self.factor < math.inf:
            raise Deep500Error(
                f"the factor of Faster is {self.factor}: give a number above 0"
            )

    def sentence(self) -> str:
        return f"{metric_words(self.a)} is {self.factor:g} times as fast as {metric_words(self.b)}"

    def judge(self, summaries: Sequence[Summary]) -> Judgement:
        of_a, of_b = (summary["values"] for summary in summaries)
        sign = 1 if self.a.kind == "rate" else -1
        logs = []
        for a, b in zip(of_a, of_b, strict=True):
            if a is None or b is None or a <= 0 or b <= 0:
                return Judgement("not decided", "a seed has no value above 0")
            logs.append(sign * (math.log(a) - math.log(b)))
        try:
            known = mean_interval(logs, summaries[0]["level"])
        except TooFewSamples:
            return Judgement("not decided", f"{len(logs)} seeds give no interval")
        low, high = math.exp(known.low), math.exp(known.high)
        reason = f"{math.exp(known.estimate):.4g} [{low:.4g}, {high:.4g}] times, n = {len(logs)}"
        if low >= self.factor:
            return Judgement("holds", reason)
        return Judgement("fails" if high < self.factor else "not decided", reason)
