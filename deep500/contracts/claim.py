"""The claim contract: a statement about the metrics of a run that anyone can verify."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..definition import Definition
from ..errors import lacking
from .metric import Metric

Verdict = Literal["holds", "fails", "not decided"]
# of a metric over the seeds: values, median, low, high, n, unit …
Summary = Mapping[str, Any]


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

    def judge(self, summaries: Sequence[Summary]) -> Judgement:
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


def judged_by_interval(
    summary: Summary, bound: float, at_least: bool
) -> Judgement:
    """Whether the median over the seeds is on the right side of a bound, with its whole interval."""
    low = summary["low"]
    count = summary["n"]
    if low is None:
        return Judgement("not decided", f"{count} seeds give no interval")
    high = summary["high"]
    median = summary["median"]
    unit = summary["unit"]
    interval = f"{median:.6g} [{low:.6g}, {high:.6g}] {unit}".rstrip()
    reason = f"{interval}, n = {count}"
    if at_least:
        holds = low >= bound
        fails = high < bound
    else:
        holds = high <= bound
        fails = low > bound
    if holds:
        return Judgement("holds", reason)
    if fails:
        return Judgement("fails", reason)
    return Judgement("not decided", reason)
