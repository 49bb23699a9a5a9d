"""The claim contract: a statement about the metrics of a run that anyone can verify."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..definition import Definition
from ..errors import lacking
from .metric import Metric
from .metric_summary import MetricSummary

Verdict = Literal["holds", "fails", "not decided"]


@dataclass(frozen=True)
class Judgement:
    """Whether a claim holds, and why in one line."""

    verdict: Verdict
    reason: str


class Claim(Definition):
    """A subclass has fields for its metrics and its numbers, and implements the two methods below.

    A bundle records the name of the class and its fields, so that a claim is judged without any code of a recipe.
    """

    def sentence(self) -> str:
        """The claim in words."""
        raise lacking(self, "sentence")

    def judge(self, summaries: Sequence[MetricSummary]) -> Judgement:
        """The judgement, from a summary for each of `metrics`."""
        raise lacking(self, "judge")

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics that it is about, by the names of its fields."""
        metrics = {}
        for name, value in self.settings.items():
            if isinstance(value, Metric):
                metrics[name] = value
        return metrics

    @property
    def numbers(self) -> dict[str, Any]:
        """Its other fields."""
        numbers = self.settings
        for name in self.metrics:
            del numbers[name]
        return numbers


def metric_words(metric: Metric) -> str:
    """The name of a metric with its settings, as it is written in Python."""
    name = type(metric).__name__
    settings = [f"{key}={value!r}" for key, value in metric.settings.items()]
    listed = ", ".join(settings)
    return f"{name}({listed})"


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.6g}"


def no_interval(count: int) -> str:
    """Why so few seeds decide nothing."""
    return (
        "1 seed gives no interval" if count == 1 else f"{count} seeds give no interval"
    )


def judged_by_interval(
    summary: MetricSummary, bound: float, at_least: bool
) -> Judgement:
    """Whether the median over the seeds is on the right side of a bound, with its whole interval."""
    low = summary.low
    high = summary.high
    count = summary.n
    if low is None and high is None:
        return Judgement("not decided", no_interval(count))
    ends = f"[{_number(low)}, {_number(high)}]"
    interval = f"{_number(summary.median)} {ends} {summary.unit}".rstrip()
    reason = f"{interval}, n = {count}"
    # an end that is not known decides nothing
    is_above = low is not None and low >= bound
    is_below = high is not None and high <= bound
    holds, fails = is_above, is_below and high != bound
    if not at_least:
        holds, fails = is_below, is_above and low != bound
    if holds:
        return Judgement("holds", reason)
    if fails:
        return Judgement("fails", reason)
    return Judgement("not decided", reason)
