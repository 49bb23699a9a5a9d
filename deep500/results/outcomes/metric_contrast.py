"""One metric of two recipes' runs: B against A over the seeds, with an interval and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TooFewSamples
from ...measure.statistics.comparison import compare
from ...measure.statistics.intervals import Interval, interval, mean_interval
from ...reports.tables import percent
from ...reports.text import clean
from .metric_text import (
    POINTS,
    Metric,
    difference_unit,
    metric_name,
    never,
    seed_count,
)

FEW_SEEDS = 6  # from here on ranks give an interval of the median
FEWEST_PAIRS = 3
# the kinds of metrics that are compared by their ratio
TIMED = "cost", "rate"
# the kinds that drift as times do, which shares of a time are: they are judged only beyond their margin
DRIFTING = *TIMED, "ratio"
# The margin of a quality as a share of the margin of times: 2 % of a time, 0.2 points of an accuracy.
QUALITY_SHARE = 0.1


@dataclass(frozen=True)
class MetricContrast:
    """One metric: B / A for costs and rates, B - A for the others, with its interval where there is one."""

    name: str
    effect: str  # "ratio" or "difference"
    unit: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    paired: bool
    method: str
    verdict: str  # better, worse, same, different or inconclusive
    same_within: str  # the margin in words
    note: str = ""


def compare_metric(
    a: Metric,
    b: Metric,
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
    margin: float,
    level: float,
) -> MetricContrast:
    """B against A, paired if both have the same seeds; inconclusive without an interval."""
    paired = list(seeds_a) == list(seeds_b)
    is_ratio = a["kind"] in TIMED
    values_a = a["values"]
    values_b = b["values"]
    absent = _unavailable(a, b) or _missing(a, b)
    if absent:
        return _refused(a, b, paired, margin, absent)
    try:
        if is_ratio:
            effect = _log_ratio(values_a, values_b, paired, level)
        else:
            effect = _difference(values_a, values_b, paired, level)
    except TooFewSamples as error:
        reason = str(error).replace("processes", "seeds")
        return _refused(a, b, paired, margin, f"no interval: {reason}")
    room, same_within = _room(a, margin)
    verdict = _verdict(effect, room, a)
    value = effect.estimate
    low = effect.low
    high = effect.high
    if is_ratio:
        value = math.exp(value)
        low = math.exp(low)
        high = math.exp(high)
    method = effect.method.replace("process medians", "seeds")
    return MetricContrast(
        name=metric_name(a),
        effect=_effect_name(a),
        unit=_effect_unit(a),
        value=value,
        low=low,
        high=high,
        n=effect.n,
        paired=paired,
        method=method,
        verdict=verdict,
        same_within=same_within,
    )


def _room(metric: Metric, margin: float) -> tuple[float, str]:
    """The largest difference that does not matter (of logarithms, for times), and the margin in words."""
    if metric["kind"] in TIMED:
        return math.log1p(margin), percent(margin)
    share = margin
    if metric["kind"] == "quality":
        share = QUALITY_SHARE * margin
    if metric["kind"] != "count" and metric["unit"] in POINTS:
        points = 100 * share
        return points, f"{points:.4g} points"
    room = share * abs(metric["median"] or 0)
    return room, f"{percent(share)} of A"


def _unavailable(a: Metric, b: Metric) -> str:
    """Why the metric could not be measured, in one run or in both; empty if it could."""
    reasons = {}
    for side, metric in (("A", a), ("B", b)):
        if metric.get("unavailable"):
            reasons[side] = clean(metric["unavailable"])
    if not reasons:
        return ""
    sides = " and ".join(reasons)
    why = "; ".join(dict.fromkeys(reasons.values()))
    return f"unavailable in {sides}: {why}"


def _missing(a: Metric, b: Metric) -> str:
    """How many seeds of each side gave no value; empty if all did."""
    missing = never(a) + never(b)
    if not missing:
        return ""
    in_a = f"{never(a)} of {len(a['values'])} in A"
    in_b = f"{never(b)} of {len(b['values'])} in B"
    return f"{seed_count(missing)} never reached it, or diverged ({in_a}, {in_b}): no interval"


def _refused(
    a: Metric, b: Metric, paired: bool, margin: float, note: str
) -> MetricContrast:
    """The comparison of a metric of which no interval can be computed."""
    n = min(len(a["values"]), len(b["values"]))
    return MetricContrast(
        name=metric_name(a),
        effect=_effect_name(a),
        unit=_effect_unit(a),
        value=None,
        low=None,
        high=None,
        n=n,
        paired=paired,
        method="none",
        verdict="inconclusive",
        same_within=_room(a, margin)[1],
        note=note,
    )


def _effect_name(metric: Metric) -> str:
    return "ratio" if metric["kind"] in TIMED else "difference"


def _effect_unit(metric: Metric) -> str:
    """The unit of the values for a ratio, that of their difference otherwise."""
    if metric["kind"] in TIMED:
        return metric["unit"]
    return difference_unit(metric["unit"])


def _log_ratio(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Interval:
    """The logarithm of B / A."""
    if min(*a, *b) <= 0:
        raise TooFewSamples("a ratio needs values above 0")
    if paired:
        logs = [math.log(y) - math.log(x) for x, y in zip(a, b, strict=True)]
        return _interval_of_pairs(logs, level)
    comparison = compare(_one_per_process(a), _one_per_process(b), level=level)
    return Interval(
        math.log(comparison.ratio),
        math.log(comparison.low),
        math.log(comparison.high),
        comparison.n,
        level,
        0.5,
        comparison.method,
        float(comparison.n),
        comparison.processes,
    )


def _difference(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Interval:
    """B - A."""
    if paired:
        differences = [y - x for x, y in zip(a, b, strict=True)]
        return _interval_of_pairs(differences, level)
    x = interval(_one_per_process(a), level=level)
    y = interval(_one_per_process(b), level=level)
    middle = y.estimate - x.estimate
    low = middle - math.hypot(y.estimate - y.low, x.high - x.estimate)
    high = middle + math.hypot(y.high - y.estimate, x.estimate - x.low)
    n = min(len(a), len(b))
    method = f"MOVER of {x.method}"
    return Interval(middle, low, high, n, level, 0.5, method, float(n), n)


def _one_per_process(values: Sequence[float]) -> list[list[float]]:
    """Values of seeds in the form of samples: every seed is a process with one value."""
    return [[value] for value in values]


def _interval_of_pairs(differences: Sequence[float], level: float) -> Interval:
    """The interval of paired differences: by ranks if there are enough seeds, else by Student's t."""
    if len(differences) >= FEW_SEEDS:
        return interval(_one_per_process(differences), level=level)
    if len(differences) < FEWEST_PAIRS:
        raise TooFewSamples(
            f"{len(differences)} pairs of seeds were given; at least {FEWEST_PAIRS} are needed"
        )
    return mean_interval(differences, level)


def _verdict(effect: Interval, room: float, metric: Metric) -> str:
    """What an interval around zero says, when differences up to `room` do not matter.

    Times and their shares drift, so they are judged only beyond their margin. A quality does not: an interval without
    0 decides, unless all of it lies within the margin.
    """
    if -room <= effect.low and effect.high <= room:
        return "same"
    threshold = room if metric["kind"] in DRIFTING else 0.0
    better = metric["better"] or ""
    if effect.low > threshold:
        return {"higher": "better", "lower": "worse"}.get(better, "different")
    if effect.high < -threshold:
        return {"higher": "worse", "lower": "better"}.get(better, "different")
    return "inconclusive"
