"""The claim contract: a statement about the metrics of a run that anyone can check again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..definition import Definition
from ..errors import lacking
from .metric import Metric

Verdict = Literal["holds", "fails", "not decided"]
Summary = Mapping[
    str, Any
]  # of a metric over the seeds: values, median, low, high, n, unit …


@dataclass(frozen=True)
class Judgement:
    """Whether a claim holds, and why in one line."""

    verdict: Verdict
    reason: str


class Claim(Definition):
    """A subclass has fields for its metrics and its numbers, and says the two methods below.

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
    settings = ", ".join(f"{name}={value!r}" for name, value in metric.settings.items())
    return f"{type(metric).__name__}({settings})"


def judged_by_interval(summary: Summary, bound: float, at_least: bool) -> Judgement:
    """Whether the median over the seeds is on the right side of a bound; its interval must be there as a whole."""
    if summary["low"] is None:
        return Judgement("not decided", f"{summary['n']} seeds give no interval")
    low, high = summary["low"], summary["high"]
    unit = summary["unit"]
    reason = f"{summary['median']:.6g} [{low:.6g}, {high:.6g}] {unit}".rstrip()
    reason = f"{reason}, n = {summary['n']}"
    if at_least:
        holds, fails = low >= bound, high < bound
    else:
        holds, fails = high <= bound, low > bound
    if holds:
        return Judgement("holds", reason)
    return Judgement("fails" if fails else "not decided", reason)
