"""A metric over the seeds of a recipe's run: its value for every seed, the median, the interval, and the target."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .. import registry
from ..contracts.metric import History, Metric
from ..contracts.task import Quality
from ..errors import Deep500Error, TooFewSamples, one_line
from ..measure.statistics.intervals import interval
from ..measure.statistics.survival import median_time
from .recorded import RecordedMetric

ACCURACY = Quality("accuracy", "%", "higher")  # what version 0.1.0 evaluated
DIVERGED = 1e150  # no interval is computed of numbers from here on, and none that means anything is as large
RECORDED = "recorded while it was run, not derived from the samples"
CENSORING = "Kaplan-Meier"  # what a plan says of seeds that never arrive; older plans say nothing


def qualities(plan: Mapping[str, Any]) -> dict[str, Quality]:
    """What the task of a recipe's run evaluates, by name; the first is the main one."""
    if "task" not in plan:
        return {ACCURACY.name: ACCURACY}
    return {
        written["name"]: Quality(**written) for written in plan["task"]["qualities"]
    }


def check_metric(written: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    if not isinstance(written.get("definition"), str) or not isinstance(
        written.get("settings", {}), dict
    ):
        raise Deep500Error("plan.json: a metric has no name, or no settings by name")
    if "recorded" in written and "settings" not in written:
        raise Deep500Error("plan.json: a recorded metric has no settings")
    recorded_metric(written, plan)


def recorded_metric(written: Mapping[str, Any], plan: Mapping[str, Any]) -> Metric:
    """One of our metrics by its name; nothing else is ever looked up, so that a file cannot name code to run.

    Of a metric that the recipe brought itself, the values were recorded.
    """
    try:
        if "recorded" in written:
            return RecordedMetric(**written["recorded"])
        metric = registry.find("metrics", str(written.get("definition")))
        return metric(**written.get("settings", {})).for_qualities(qualities(plan))
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the metric {written.get('definition')!r} cannot be made: {error}"
        ) from None


def _value(metric: Metric, run: History) -> float | None:
    """What a metric says of a run; None for a run that diverged, one line for code that fails."""
    name = type(metric).__name__
    try:
        value = metric.value(run)
    except Deep500Error:
        raise
    except Exception as error:
        said = one_line(error, kind=True)
        raise Deep500Error(
            f"the metric {name} fails on seed {run.seed} ({said})"
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
    metric, level = recorded_metric(written, plan), plan["level"]
    values = [_value(metric, run) for run in runs]
    reached = [v for v in values if v is not None]
    # A run that never got there (or diverged) is the worst; then the median is one of the values, the worse of two.
    ranked = [None] * (len(values) - len(reached)) + sorted(
        reached, reverse=metric.better == "lower"
    )
    middle = (
        median(reached)
        if len(reached) == len(values)
        else ranked[(len(ranked) - 1) // 2]
    )
    summary: dict[str, Any] = {
        "name": written["definition"],
        "settings": written["settings"] if "recorded" in written else metric.settings,
        "unit": metric.unit,
        "kind": metric.kind,
        "better": metric.better,
        "target": target,
        "values": values,
        "n": len(values),
        "level": level,
        "median": middle,
        "low": None,
        "high": None,
        "method": "none",
        "notes": [RECORDED] if "recorded" in written else [],
        "acceptable": target is None or metric.meets(middle, target),
        "sure": target is None,
    }
    if reason := _unavailable(metric, plan):
        summary["notes"] += [f"unavailable: {reason}"]
        return summary | {"unavailable": reason}
    if len(reached) < len(values):
        summary["notes"] += [
            f"{len(values) - len(reached)} of {len(values)} seeds never reached it, or diverged"
        ]
        return summary | _censored(metric, target, values, runs, plan)
    try:
        known = (
            interval([[v] for v in reached], level=level)
            if len(reached) > 1
            else interval(reached, level=level)
        )
        summary |= {
            "median": known.estimate,
            "low": known.low,
            "high": known.high,
            "method": known.method.replace("process medians", "values of seeds"),
            "acceptable": target is None or metric.meets(known.estimate, target),
            "sure": target is None
            or (metric.meets(known.low, target) and metric.meets(known.high, target)),
        }
    except TooFewSamples as reason:
        summary["notes"] += [
            f"no interval: {str(reason).replace('processes', 'seeds')}"
        ]
    return summary


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
    """The median of a way to a goal where some seeds never arrived: they count as long as they lasted."""
    ends = [metric.censored_at(run) for run in runs]
    known = plan.get("censoring") == CENSORING and None not in ends
    if not known or all(value is None for value in values):
        return {}
    times = [
        end if value is None else value for value, end in zip(values, ends, strict=True)
    ]
    arrived = [value is not None for value in values]
    median_of = median_time(times, arrived, plan["level"])  # type: ignore[arg-type]
    is_sure = median_of.high is not None and metric.meets(median_of.high, target)
    return {
        "median": median_of.estimate,
        "low": median_of.low,
        "high": median_of.high,
        "method": median_of.method,
        "acceptable": target is None or metric.meets(median_of.estimate, target),
        "sure": target is None or is_sure,
    }
