"""One cost of a run is smaller than another by a factor: `d5.claims.Faster(a, b, 1.2)`."""

import math
from collections.abc import Sequence

from ..contracts.claim import Claim, Judgement, metric_words, no_interval
from ..contracts.metric import Metric
from ..contracts.metric_summary import MetricSummary
from ..errors import Deep500Error, TooFewSamples
from ..measure.statistics.intervals import mean_interval

TIMED = ("cost", "rate")


class Faster(Claim):
    """Over the seeds, `a` is at least `factor` times as fast as `b`; both are costs, or both are rates.

    The claim holds if the Student's t-interval of the logarithms of the ratios, one for each seed, lies above the
    logarithm of the factor.
    """

    a: Metric
    b: Metric
    factor: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        kind_a, kind_b = self.a.kind, self.b.kind
        if kind_a != kind_b or kind_a not in TIMED:
            raise Deep500Error(
                f"Faster compares two costs or two rates, and {metric_words(self.a)} is a {kind_a}, "
                f"{metric_words(self.b)} a {kind_b}"
            )
        if not 0 < self.factor < math.inf:
            raise Deep500Error(
                f"the factor of Faster is {self.factor}: give a number above 0"
            )

    def sentence(self) -> str:
        fast, slow = metric_words(self.a), metric_words(self.b)
        return f"{fast} is {self.factor:g} times as fast as {slow}"

    def judge(self, summaries: Sequence[MetricSummary]) -> Judgement:
        summary_a, summary_b = summaries
        sign = 1 if self.a.kind == "rate" else -1
        log_ratios = []
        for a, b in zip(summary_a.values, summary_b.values, strict=True):
            if a is None or b is None or a <= 0 or b <= 0:
                return Judgement("not decided", "a seed has no value above 0")
            log_ratios.append(sign * (math.log(a) - math.log(b)))
        count = len(log_ratios)
        try:
            interval = mean_interval(log_ratios, summary_a.level)
        except TooFewSamples:
            return Judgement("not decided", no_interval(count))
        ratio = math.exp(interval.estimate)
        low, high = math.exp(interval.low), math.exp(interval.high)
        reason = f"{ratio:.4g} [{low:.4g}, {high:.4g}] times, n = {count}"
        if low >= self.factor:
            return Judgement("holds", reason)
        if high < self.factor:
            return Judgement("fails", reason)
        return Judgement("not decided", reason)
