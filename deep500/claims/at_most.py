"""A metric stays below a bound: `d5.FinalLoss() <= 0.1`."""

from collections.abc import Sequence

from ..contracts.claim import (
    Claim,
    Judgement,
    judged_by_interval,
    metric_words,
)
from ..contracts.metric import Metric
from ..contracts.metric_summary import MetricSummary


class AtMost(Claim):
    """The median over the seeds is at most `bound`."""

    metric: Metric
    bound: float

    def sentence(self) -> str:
        return f"{metric_words(self.metric)} <= {self.bound:g}"

    def judge(self, summaries: Sequence[MetricSummary]) -> Judgement:
        return judged_by_interval(summaries[0], self.bound, at_least=False)
