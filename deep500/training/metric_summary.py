"""A metric over the seeds of a recipe's run: its value for every seed, the median, the interval, and the target."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .. import registry
from ..contracts.metric import History, Metric
from ..contracts.task import Quality
from ..errors import Deep500Error, TooFewSamples, one_line
from ..measure.statistics.intervals import Interval, interval
from ..measure.statistics.survival import median_time
from .recorded import RecordedMetric

ACCURACY = Quality("accuracy", "%", "higher")  # what version 0.1.0 evaluated
DIVERGED = 1e150  # values from here on count as diverged: no interval of them can be computed or is meaningful
RECORDED = "recorded while it was run, not derived from the samples"
CENSORING = "Kaplan-Meier"  # how a plan says that it treats seeds that never reach a goal; older plans say nothing


def qualities(plan: Mapping[str, Any]) -> dict[str, Quality]:
    """The qualities that the task of a recipe's run evaluates, by name; the first is the main one."""
    if "task" not in plan:
        return {ACCURACY.name: ACCURACY}
    by_name = {}
    for written in plan["task"]["qualities"]:
        by_name[written["name"]] = Quality(**written)
    return by_name


def check_metric(written: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise a Deep500Error unless a metric of a plan has the right form and can be constructed."""
    has_name = isinstance(written.get("definition"), str)
    has_settings = isinstance(written.get("settings", {}), dict)
    if not has_name or not has_settings:
        raise Deep500Error(
            "plan.json: a metric has no name, or no settings by name"
        )
    if "recorded" in written and "settings" not in written:
        raise Deep500Error("plan.json: a recorded metric has no settings")
    recorded_metric(written, plan)


def recorded_metric(
    written: Mapping[str, Any], plan: Mapping[str, Any]
) -> Metric:
    """Construct a metric from its entry in a plan.

    Only metrics of this package are looked up, so that a file cannot name code to run. For a metric that the recipe
    defined itself, the values were recorded.
    """
    name = written.get("definition")
    try:
        if "recorded" in written:
            return RecordedMetric(**written["recorded"])
        metric_class = registry.find("metrics", str(name))
        metric = metric_class(**written.get("settings", {}))
        return metric.for_qualities(qualities(plan))
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the metric {name!r} cannot be made: {error}"
        ) from None


def _value(metric: Metric, run: History) -> float | None:
    """The value of a metric for a run; None for a run that diverged.

    Raises a Deep500Error of one line if the metric's code fails.
    """
    name = type(metric).__name__
    try:
        value = metric.value(run)
    except Deep500Error:
        raise
    except Exception as error:
        cause = one_line(error, kind=True)
        raise Deep500Error(
            f"the metric {name} fails on seed {run.seed} ({cause})"
        ) from error
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise Deep500Error(
            f"the metric {name} gives {str(value)[:40]} for seed {run.seed}: "
            "`value` returns a number, or None"
        )
    return value if abs(value) < DIVERGED else None


def metric_summary(
    written: Mapping[str, Any],
    target: float | None,
    runs: Sequence[History],
    plan: Mapping[str, Any],
) -> dict[str, Any]:
    """The values of the seeds, their median with its interval, and whether the target is met."""
    metric = recorded_metric(written, plan)
    reason = _unavailable(metric, plan)
    values: list[float | None] = [None] * len(runs)
    if not reason:
        values = [_value(metric, run) for run in runs]
        if all(value is None for value in values):
            reason = metric.absence
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


def _unavailable(metric: Metric, plan: Mapping[str, Any]) -> str:
    """Why the run could not measure what a metric needs; empty if it could."""
    reasons = plan.get("unavailable", {})
    return "; ".join(reasons[need] for need in metric.needs if need in reasons)


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
    estimated = median_time(times, arrived, plan["level"])  # type: ignore[arg-type]
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
