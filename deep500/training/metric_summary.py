"""A metric over the seeds of a recipe's run: its value for every seed, the median, the interval, and the target."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from .. import registry
from ..contracts.metric import History, Metric
from ..contracts.metric_summary import MetricSummary
from ..contracts.task import Quality
from ..errors import Deep500Error, TooFewSamples, one_line
from ..measure.statistics.intervals import Interval
from ..measure.statistics.seeds import (
    seeds_interval,
    seeds_interval_with_missing,
)
from ..measure.statistics.survival import median_time
from .recipe_blocks import ACCURACY
from .recipe_plan import MetricForm, RecipePlan
from .recorded import RecordedMetric

DIVERGED = 1e150  # values from here on count as diverged: no interval of them can be computed or is meaningful
RECORDED = "recorded while it was run, not derived from the samples"


def qualities(plan: RecipePlan) -> dict[str, Quality]:
    """The qualities that the task of a recipe's run evaluates, by name; the first is the main one."""
    if plan.task is None:
        return {ACCURACY.name: ACCURACY}
    return {quality.name: quality for quality in plan.task.qualities}


def recorded_metric(form: MetricForm, plan: RecipePlan) -> Metric:
    """Construct a metric from its entry in a plan.

    Only metrics of this package are looked up, so that a file cannot name code to run. For a metric that the recipe
    defined itself, the values were recorded.
    """
    try:
        if form.recorded is not None:
            return RecordedMetric(**form.recorded)
        metric_class = registry.find("metrics", form.definition)
        metric = metric_class(**form.settings)
        return metric.for_qualities(qualities(plan))
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the metric {form.definition!r} cannot be made: {error}"
        ) from None


def metric_value(metric: Metric, run: History) -> float | None:
    """The value of a metric for a run; None where it has none, or one that is not finite.

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
    form: MetricForm,
    target: float | None,
    runs: Sequence[History],
    plan: RecipePlan,
) -> MetricSummary:
    """The values of the seeds, their median with its interval, and whether the target is met.

    A seed without a value (it never reached a goal, or diverged) ranks as the worst.
    """
    metric = recorded_metric(form, plan)
    reason = unavailable_reason(metric, plan)
    values: list[float | None] = [None] * len(runs)
    if not reason:
        values = [_value_of_seed(metric, run) for run in runs]
        failed = any(run.divergence or run.crashed for run in runs)
        if not failed and all(value is None for value in values):
            reason = metric.absence
    summary = _summary_without_interval(form, metric, target, values, plan)
    notes = [*summary.notes]
    if reason:
        notes.append(f"unavailable: {reason}")
        return replace(summary, unavailable=reason, notes=notes)
    if metric.has_goal:
        earlier = _not_before(metric, values, runs)
        every = plan.evaluate_every
        summary = replace(summary, not_before=earlier, looked_every=every)
    if None in values:
        notes.append(_missing_note(metric, values, runs))
    try:
        found = _estimated(metric, summary, runs)
    except TooFewSamples as error:
        notes.append(f"no interval: {error}")
        return replace(summary, notes=notes)
    return _with_interval(metric, replace(summary, notes=notes), found)


def _value_of_seed(metric: Metric, run: History) -> float | None:
    """The value of a metric for a run. What is left of a run that diverged is no result; a goal reached before is.

    A run that crashed has no result at all.
    """
    if run.crashed:
        return None
    if run.divergence and not metric.has_goal:
        return None
    return metric_value(metric, run)


def _not_before(
    metric: Metric, values: Sequence[float | None], runs: Sequence[History]
) -> list[float | None]:
    """When each seed that reached its goal was last seen not to have reached it."""
    earlier: list[float | None] = []
    for value, run in zip(values, runs, strict=True):
        earlier.append(None if value is None else metric.not_before(run))
    return earlier


def _missing_note(
    metric: Metric, values: Sequence[float | None], runs: Sequence[History]
) -> str:
    """How many seeds have no value, and what became of them."""
    missing = [run for run, value in zip(runs, values, strict=True) if value is None]
    fates = Counter(map(_fate, missing))
    listed = ", ".join(f"{count} {fate}" for fate, count in fates.items())
    verb = "never reached it" if metric.has_goal else "have no value"
    return f"{len(missing)} of {len(values)} seeds {verb} ({listed})"


def _fate(run: History) -> str:
    if run.crashed:
        return "crashed"
    if run.divergence:
        return "diverged"
    if run.ended:
        return "stopped before the planned end"
    return "trained to the planned end"


def _summary_without_interval(
    form: MetricForm,
    metric: Metric,
    target: float | None,
    values: list[float | None],
    plan: RecipePlan,
) -> MetricSummary:
    """The summary as it is when no interval can be computed."""
    is_recorded = form.recorded is not None
    middle = _median(values, metric)
    scale = metric.value_range
    return MetricSummary(
        name=form.definition,
        settings=form.settings if is_recorded else metric.settings,
        unit=metric.unit,
        kind=metric.kind,
        better=metric.better,
        range=(_finite(scale.low), _finite(scale.high)),
        target=target,
        values=values,
        n=len(values),
        level=plan.level,
        median=middle,
        low=None,
        high=None,
        method="none",
        notes=[RECORDED] if is_recorded else [],
        acceptable=target is None or metric.meets(middle, target),
        sure=target is None,
    )


def _median(values: Sequence[float | None], metric: Metric) -> float | None:
    """The median, where a seed without a value ranks as the worst; None if it is one of those."""
    ranked = sorted(_with_worst(values, metric))
    lower = ranked[(len(ranked) - 1) // 2]
    upper = ranked[len(ranked) // 2]
    if math.isinf(lower) or math.isinf(upper):
        return None
    return (lower + upper) / 2


def _with_worst(values: Sequence[float | None], metric: Metric) -> list[float]:
    """The values, with an infinite one of the worse side for each seed that has none."""
    worst = math.inf if metric.better == "lower" else -math.inf
    return [worst if value is None else value for value in values]


def _estimated(
    metric: Metric, summary: MetricSummary, runs: Sequence[History]
) -> Interval:
    """The median over the seeds with its interval, whose ends may be infinite; raises TooFewSamples."""
    if summary.not_before is not None:
        return _time_to_goal(metric, summary, summary.not_before, runs)
    known = [value for value in summary.values if value is not None]
    if len(known) < summary.n:
        ranked = _with_worst(summary.values, metric)
        return seeds_interval_with_missing(ranked, summary.level)
    return seeds_interval(known, metric.value_range, summary.level)


def _time_to_goal(
    metric: Metric,
    summary: MetricSummary,
    earlier: Sequence[float | None],
    runs: Sequence[History],
) -> Interval:
    """The interval of the median time to a goal that is looked for after every epoch only.

    Each seed reached it somewhere between two looks: the lower end is that of the earlier looks.
    """
    late = _median_time(metric, summary.values, runs, summary.level)
    early = _median_time(metric, earlier, runs, summary.level)
    low = min(early.low, late.low, late.estimate)
    method = f"{late.method}, from the look before the goal was reached"
    return replace(late, low=low, method=method)


def _median_time(
    metric: Metric,
    times: Sequence[float | None],
    runs: Sequence[History],
    level: float,
) -> Interval:
    """The median of times. A run that ended as planned before its goal is censored; any other never gets there."""
    arrived = [time is not None for time in times]
    if all(arrived):
        return seeds_interval(times, metric.value_range, level)  # type: ignore[arg-type]
    ends: list[float] = []
    for time, run in zip(times, runs, strict=True):
        end = metric.censored_at(run) if time is None else time
        never = end is None or (time is None and bool(run.failure))
        ends.append(math.inf if never else float(end))  # type: ignore[arg-type]
    found = median_time(ends, arrived, level)
    return Interval(
        estimate=_or_infinite(found.estimate),
        low=_or_infinite(found.low),
        high=_or_infinite(found.high),
        n=found.n,
        level=level,
        quantile=0.5,
        method=found.method,
        effective_n=float(found.n),
        processes=found.n,
    )


def _with_interval(
    metric: Metric, summary: MetricSummary, found: Interval
) -> MetricSummary:
    """The summary with what changes if an interval can be computed; an infinite end is not known."""
    middle = _finite(found.estimate)
    low = _finite(found.low)
    high = _finite(found.high)
    target = summary.target
    acceptable = sure = True
    if target is not None:
        acceptable = metric.meets(middle, target)
        sure = metric.meets(low, target) and metric.meets(high, target)
    return replace(
        summary,
        median=middle,
        low=low,
        high=high,
        method=found.method,
        acceptable=acceptable,
        sure=sure,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number


def unavailable_reason(metric: Metric, plan: RecipePlan) -> str:
    """Why the run could not measure what a metric needs; empty if it could."""
    reasons = plan.unavailable
    return "; ".join(reasons[need] for need in metric.needs if need in reasons)
