"""The first procedure that summarised metrics over seeds, kept so that the bundles of its time can be verified.

With 3 to 5 seeds its "median" is a geometric mean where all values are positive; a seed that diverged is judged by what
its network was left with; and one that was stopped counts as censored. Nothing that is shown today comes from here.
"""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..contracts.metric import History, Metric
from ..errors import TooFewSamples
from ..measure.statistics.intervals import Interval, interval
from ..measure.statistics.survival import median_time
from .metric_summary import (
    CENSORING,
    RECORDED,
    metric_value,
    recorded_metric,
    unavailable_reason,
)


def first_metric_summary(
    written: Mapping[str, Any],
    target: float | None,
    runs: Sequence[History],
    plan: Mapping[str, Any],
) -> dict[str, Any]:
    """The values of the seeds, their median with its interval, and whether the target is met."""
    metric = recorded_metric(written, plan)
    reason = unavailable_reason(metric, plan)
    values: list[float | None] = [None] * len(runs)
    if not reason:
        values = [metric_value(metric, run) for run in runs]
    summary = _summary_without_interval(written, metric, target, values, plan)
    notes = summary["notes"]
    if reason:
        notes.append(f"unavailable: {reason}")
        return summary | {"unavailable": reason}
    reached = [value for value in values if value is not None]
    not_reached = len(values) - len(reached)
    if not_reached:
        notes.append(
            f"{not_reached} of {len(values)} seeds never reached it, or diverged"
        )
        return summary | _censored(metric, target, values, runs, plan)
    try:
        return summary | _with_interval(metric, target, reached, plan["level"])
    except TooFewSamples as error:
        reason = str(error).replace("processes", "seeds")
        notes.append(f"no interval: {reason}")
        return summary


def _summary_without_interval(
    written: Mapping[str, Any],
    metric: Metric,
    target: float | None,
    values: list[float | None],
    plan: Mapping[str, Any],
) -> dict[str, Any]:
    """All entries of a summary, as they are when no interval can be computed."""
    settings = metric.settings
    notes: list[str] = []
    if "recorded" in written:
        settings = written["settings"]
        notes.append(RECORDED)
    middle = _median(values, metric)
    return {
        "name": written["definition"],
        "settings": settings,
        "unit": metric.unit,
        "kind": metric.kind,
        "better": metric.better,
        "target": target,
        "values": values,
        "n": len(values),
        "level": plan["level"],
        "median": middle,
        "low": None,
        "high": None,
        "method": "none",
        "notes": notes,
        "acceptable": target is None or metric.meets(middle, target),
        "sure": target is None,
    }


def _median(values: Sequence[float | None], metric: Metric) -> float | None:
    """The median; a run that never reached its goal, or diverged, ranks as the worst.

    If there is such a run, the median is one of the values: of two middle values, the worse one.
    """
    reached = [value for value in values if value is not None]
    if len(reached) == len(values):
        return median(reached)
    best_last = sorted(reached, reverse=metric.better == "lower")
    not_reached = len(values) - len(reached)
    ranked = [None] * not_reached + best_last
    return ranked[(len(ranked) - 1) // 2]


def _with_interval(
    metric: Metric, target: float | None, values: list[float], level: float
) -> dict[str, Any]:
    """The entries of a summary that change if an interval can be computed; raises TooFewSamples if it cannot."""
    estimated = _interval(values, level)
    acceptable = sure = True
    if target is not None:
        acceptable = metric.meets(estimated.estimate, target)
        low_meets = metric.meets(estimated.low, target)
        sure = low_meets and metric.meets(estimated.high, target)
    return {
        "median": estimated.estimate,
        "low": estimated.low,
        "high": estimated.high,
        "method": estimated.method.replace(
            "process medians", "values of seeds"
        ),
        "acceptable": acceptable,
        "sure": sure,
    }


def _interval(values: list[float], level: float) -> Interval:
    if len(values) > 1:
        return interval([[value] for value in values], level=level)
    return interval(values, level=level)


def _censored(
    metric: Metric,
    target: float | None,
    values: Sequence[float | None],
    runs: Sequence[History],
    plan: Mapping[str, Any],
) -> dict[str, Any]:
    """The median time to a goal when some seeds never reached it: they are censored at the end of their runs."""
    ends = [metric.censored_at(run) for run in runs]
    can_estimate = plan.get("censoring") == CENSORING and None not in ends
    if not can_estimate or all(value is None for value in values):
        return {}
    times = []
    for value, end in zip(values, ends, strict=True):
        times.append(end if value is None else value)
    arrived = [value is not None for value in values]
    estimated = median_time(times, arrived, plan["level"], fewest=1)  # type: ignore[arg-type]
    acceptable = sure = True
    if target is not None:
        acceptable = metric.meets(estimated.estimate, target)
        high = estimated.high
        sure = high is not None and metric.meets(high, target)
    return {
        "median": estimated.estimate,
        "low": estimated.low,
        "high": estimated.high,
        "method": estimated.method,
        "acceptable": acceptable,
        "sure": sure,
    }
