"""One metric of two recipes' runs: B against A over the seeds, with an interval and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TooFewSamples
from ...measure.statistics.comparison import compare
from ...measure.statistics.intervals import Interval, interval, mean_interval
from .metric_text import Metric, metric_name

FEW_SEEDS = 6  # from here on ranks give an interval of the median
FEWEST_PAIRS = 3
# the kinds of metrics that are compared by their ratio
TIMED = "cost", "rate"


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
    missing = sum(value is None for value in [*values_a, *values_b])
    if missing:
        note = f"{missing} seeds never reached it, or diverged: no interval"
        return _refused(a, b, paired, note)
    try:
        if is_ratio:
            effect = _log_ratio(values_a, values_b, paired, level)
        else:
            effect = _difference(values_a, values_b, paired, level)
    except TooFewSamples as error:
        reason = str(error).replace("processes", "seeds")
        return _refused(a, b, paired, f"no interval: {reason}")
    if is_ratio:
        room = math.log1p(margin)
    else:
        room = margin * abs(a["median"])
    verdict = _verdict(effect.low, effect.high, room, a["better"])
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
        unit=a["unit"],
        value=value,
        low=low,
        high=high,
        n=effect.n,
        paired=paired,
        method=method,
        verdict=verdict,
    )


def _refused(a: Metric, b: Metric, paired: bool, note: str) -> MetricContrast:
    """The comparison of a metric of which no interval can be computed."""
    n = min(len(a["values"]), len(b["values"]))
    return MetricContrast(
        name=metric_name(a),
        effect=_effect_name(a),
        unit=a["unit"],
        value=None,
        low=None,
        high=None,
        n=n,
        paired=paired,
        method="none",
        verdict="inconclusive",
        note=note,
    )


def _effect_name(metric: Metric) -> str:
    return "ratio" if metric["kind"] in TIMED else "difference"


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


def _verdict(low: float, high: float, room: float, better: str | None) -> str:
    """What an interval around zero says, when differences up to `room` do not matter."""
    if -room <= low and high <= room:
        return "same"
    if low > room:
        return {"higher": "better", "lower": "worse"}.get(
            better or "", "different"
        )
    if high < -room:
        return {"higher": "worse", "lower": "better"}.get(
            better or "", "different"
        )
    return "inconclusive"
