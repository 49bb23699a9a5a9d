"""One metric of two recipes' runs: B against A over the seeds, with an interval or a test by ranks, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from ...contracts.metric_summary import MetricSummary
from ...errors import TooFewSamples
from ...measure.statistics.intervals import (
    Interval,
    smallest_sample,
    t_interval,
)
from ...measure.statistics.ranks import (
    few_pairs_tail,
    rank_sum_tail,
    sign_flip_tail,
)
from ...measure.statistics.scales import POSITIVE, REAL, Scale
from ...measure.statistics.seeds import FEWEST_SEEDS, seeds_interval
from ...reports.tables import percent
from ...reports.text import clean, counted
from .metric_text import (
    POINTS,
    difference_unit,
    has_goal,
    metric_name,
    metric_scale,
    never,
)

# the kinds of metrics that are compared by their ratio
TIMED = "cost", "rate"
# the kinds that drift as times do, which shares of a time are: they are judged only beyond their margin
DRIFTING = *TIMED, "ratio"
# The margin of a quality as a share of the margin of times: 2 % of a time, 0.2 points of an accuracy.
QUALITY_SHARE = 0.1
LOOKS = "a goal is looked for {when} ({quantum}), so the interval is at least as wide as {stretch} before it"
EPOCH = "one epoch"
Values = Sequence[float | None]


@dataclass(frozen=True)
class MetricContrast:
    """One metric: B / A for costs and rates, B - A for the others, with its interval where there is one.

    Where seeds have no value there is no number, but a test by ranks, and `reached` says how many of B and A have one.
    """

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
    reached: str = ""


@dataclass(frozen=True)
class Sides:
    """The values of A and B that are compared; `early` ones are from the look before a goal was reached."""

    a: Values
    b: Values
    early_a: Values
    early_b: Values
    paired: bool
    left_out: int  # seeds that only one of them has, beside pairs


def matched(
    a: MetricSummary, b: MetricSummary, seeds_a: Sequence[int], seeds_b: Sequence[int]
) -> Sides:
    """The values of the seeds that both have, as pairs; all values if too few are shared."""
    values_a, values_b = a.values, b.values
    early_a = values_a if a.not_before is None else a.not_before
    early_b = values_b if b.not_before is None else b.not_before
    shared = [seed for seed in seeds_a if seed in set(seeds_b)]
    smaller = min(len(seeds_a), len(seeds_b))
    if len(shared) < min(FEWEST_SEEDS, smaller) or 2 * len(shared) < smaller:
        return Sides(values_a, values_b, early_a, early_b, False, 0)
    in_a = [list(seeds_a).index(seed) for seed in shared]
    in_b = [list(seeds_b).index(seed) for seed in shared]
    return Sides(
        a=[values_a[place] for place in in_a],
        b=[values_b[place] for place in in_b],
        early_a=[early_a[place] for place in in_a],
        early_b=[early_b[place] for place in in_b],
        paired=True,
        left_out=len(seeds_a) + len(seeds_b) - 2 * len(shared),
    )


def compare_metric(
    a: MetricSummary,
    b: MetricSummary,
    seeds_a: Sequence[int],
    seeds_b: Sequence[int],
    margin: float,
    level: float,
) -> MetricContrast:
    """B against A, paired by the seeds that both have; inconclusive without an interval or a test."""
    sides = matched(a, b, seeds_a, seeds_b)
    room, same_within = _room(a, margin)
    blank = MetricContrast(
        name=metric_name(a),
        effect="ratio" if a.kind in TIMED else "difference",
        unit=_effect_unit(a),
        value=None,
        low=None,
        high=None,
        n=min(len(sides.a), len(sides.b)),
        paired=sides.paired,
        method="none",
        verdict="inconclusive",
        same_within=same_within,
    )
    absent = _unavailable(a, b)
    if absent:
        return replace(blank, note=absent)
    if None in sides.a or None in sides.b:
        return _by_ranks(blank, a, b, sides, room, level)
    try:
        effect = _effect(a, sides, level)
    except TooFewSamples as error:
        return replace(blank, note=f"no interval: {error}")
    note = _looks(a, b) if has_goal(a) else ""
    if not (math.isfinite(effect.low) and math.isfinite(effect.high)):
        return replace(blank, note=f"{note}; it was reached before the second look")
    ends = effect.estimate, effect.low, effect.high
    if a.kind in TIMED:
        ends = math.exp(ends[0]), math.exp(ends[1]), math.exp(ends[2])
    value, low, high = ends
    return replace(
        blank,
        value=value,
        low=low,
        high=high,
        n=effect.n,
        method=effect.method,
        verdict=_verdict(effect, room, a),
        note=note,
    )


def _looks(a: MetricSummary, b: MetricSummary) -> str:
    """How often each side looked for a goal, and what follows from it."""
    of_a, of_b = _quantum(a), _quantum(b)
    quantum = f"its quantum is {of_a}"
    if of_a != of_b:
        quantum += f" in A and {of_b} in B"
    if of_a == of_b == EPOCH:
        return LOOKS.format(
            when="after every epoch only", quantum=quantum, stretch="the epoch"
        )
    return LOOKS.format(when="now and then", quantum=quantum, stretch="the stretch")


def _quantum(metric: MetricSummary) -> str:
    """The stretch of training between two looks for a goal."""
    return f"{metric.looked_every} steps" if metric.looked_every else EPOCH


def _room(metric: MetricSummary, margin: float) -> tuple[float, str]:
    """The largest difference that does not matter (of logarithms, for times), and the margin in words."""
    if metric.kind in TIMED:
        return math.log1p(margin), percent(margin)
    share = margin
    if metric.kind == "quality":
        share = QUALITY_SHARE * margin
    if metric.kind != "count" and metric.unit in POINTS:
        points = 100 * share
        return points, f"{points:.4g} points"
    room = share * abs(metric.median or 0)
    return room, f"{percent(share)} of A"


def _unavailable(a: MetricSummary, b: MetricSummary) -> str:
    """Why the metric could not be measured, in one run or in both; empty if it could."""
    reasons = {}
    for side, metric in (("A", a), ("B", b)):
        if metric.unavailable:
            reasons[side] = clean(metric.unavailable)
    if not reasons:
        return ""
    sides = " and ".join(reasons)
    why = "; ".join(dict.fromkeys(reasons.values()))
    return f"unavailable in {sides}: {why}"


def _effect_unit(metric: MetricSummary) -> str:
    """The unit of the values for a ratio, that of their difference otherwise."""
    if metric.kind in TIMED:
        return metric.unit
    return difference_unit(metric.unit)


def _by_ranks(
    blank: MetricContrast,
    a: MetricSummary,
    b: MetricSummary,
    sides: Sides,
    room: float,
    level: float,
) -> MetricContrast:
    """A test by ranks, in which a seed without a value is the worst; B has to be apart by more than the margin."""
    reached_a = len(a.values) - never(a)
    reached_b = len(b.values) - never(b)
    reached = f"{reached_b}/{len(b.values)} against {reached_a}/{len(a.values)}"
    verb = "reached it" if has_goal(a) else "have a value"
    note = f"{reached} seeds {verb} (B against A)"
    if reached_a == reached_b == 0:
        return replace(blank, note=f"no seed of A or B {verb}", reached=reached)
    verdict, method = verdict_by_ranks(a, sides, room, level)
    if verdict == "inconclusive":
        note += "; ranks do not decide"
    method += ", seeds without a value last"
    return replace(blank, verdict=verdict, note=note, reached=reached, method=method)


def verdict_by_ranks(
    metric: MetricSummary, sides: Sides, room: float, level: float
) -> tuple[str, str]:
    """Whether B is better or worse by more than the room (of logarithms, for times), and the name of the test."""
    test, method = rank_sum_tail, "rank sum test"
    if sides.paired:
        test, method = few_pairs_tail, "rank sum test and all pairs agree"
    if sides.paired and len(sides.a) >= smallest_sample(0.5, level):
        test, method = sign_flip_tail, "sign flips of paired ranks"
    tail = (1 - level) / 2
    # each side is taken at its best where it is to be the worse one
    best_b = _badness(metric, sides.early_b, room)
    best_a = _badness(metric, sides.early_a, room)
    verdict = "inconclusive"
    if test(_badness(metric, sides.a, 0.0), best_b) <= tail:
        verdict = "worse"
    elif test(_badness(metric, sides.b, 0.0), best_a) <= tail:
        verdict = "better"
    if verdict != "inconclusive" and metric.better is None:
        verdict = "different"
    return verdict, method


def _badness(metric: MetricSummary, values: Values, room: float) -> list[float]:
    """Numbers that are larger for worse values, less the room; infinite for a seed without a value."""
    is_timed = metric.kind in TIMED
    badness = []
    for value in values:
        if value is None:
            badness.append(math.inf)
            continue
        place = POSITIVE.stretched(value) if is_timed else value
        if metric.better != "lower":
            place = -place
        badness.append(place - room)
    return badness


def _effect(metric: MetricSummary, sides: Sides, level: float) -> Interval:
    """B - A, of logarithms for a ratio. The lower end is that of B's early and A's late values, and the other way."""
    scale = metric_scale(metric)
    if metric.kind in TIMED:
        scale = POSITIVE
        if any(value is None or value <= 0 for value in (*sides.a, *sides.b)):
            raise TooFewSamples("a ratio needs values above 0")
    of_sides = _of_pairs if sides.paired else _of_two
    effect = of_sides(metric, sides.a, sides.b, scale, level)
    if sides.early_a is sides.a and sides.early_b is sides.b:
        return effect
    least = of_sides(metric, sides.a, sides.early_b, scale, level)
    most = of_sides(metric, sides.early_a, sides.b, scale, level)
    return replace(effect, low=least.low, high=most.high).around(effect.estimate)


def _of_pairs(
    metric: MetricSummary, a: Values, b: Values, scale: Scale, level: float
) -> Interval:
    """The median of paired differences: by ranks if there are enough seeds, else with Student's t as its interval."""
    differences = []
    for x, y in zip(a, b, strict=True):
        differences.append(_place(metric, y) - _place(metric, x))
    count = len(differences)
    if count < FEWEST_SEEDS:
        raise TooFewSamples(
            f"{counted(count, 'pair')} of seeds; at least {FEWEST_SEEDS} are needed"
        )
    if not all(map(math.isfinite, differences)):
        low, high = -math.inf, math.inf
        return _interval(0.0, low, high, count, level, "none")
    if count >= smallest_sample(0.5, level):
        return seeds_interval(differences, REAL, level)
    _, low, high = t_interval(np.array(differences), level)
    widest = scale.high - scale.low
    if metric.kind in TIMED:
        widest = math.inf
    low, high = max(low, -widest), min(high, widest)
    method = "t on the paired differences"
    return _interval(median(differences), low, high, count, level, method).around(
        median(differences)
    )


def _of_two(
    metric: MetricSummary, a: Values, b: Values, scale: Scale, level: float
) -> Interval:
    """The difference of two medians, whose intervals are combined (MOVER)."""
    x = seeds_interval(a, scale, level)  # type: ignore[arg-type]
    y = seeds_interval(b, scale, level)  # type: ignore[arg-type]
    middle_x, low_x, high_x = _places(metric, x)
    middle_y, low_y, high_y = _places(metric, y)
    count = min(len(a), len(b))
    method = f"MOVER of {x.method}"
    middle = middle_y - middle_x
    if not math.isfinite(middle):
        return _interval(0.0, -math.inf, math.inf, count, level, method)
    low = middle - math.hypot(middle_y - low_y, high_x - middle_x)
    high = middle + math.hypot(high_y - middle_y, middle_x - low_x)
    return _interval(middle, low, high, count, level, method)


def _place(metric: MetricSummary, value: float | None) -> float:
    """A value, or its logarithm where a ratio is wanted."""
    assert value is not None
    if metric.kind in TIMED:
        return POSITIVE.stretched(value)
    return value


def _places(metric: MetricSummary, of: Interval) -> tuple[float, float, float]:
    ends = of.estimate, of.low, of.high
    middle, low, high = (_place(metric, end) for end in ends)
    return middle, low, high


def _interval(
    estimate: float, low: float, high: float, n: int, level: float, method: str
) -> Interval:
    return Interval(estimate, low, high, n, level, 0.5, method, float(n), n)


def _verdict(effect: Interval, room: float, metric: MetricSummary) -> str:
    """What an interval around zero says, when differences up to `room` do not matter.

    Times and their shares drift, so they are judged only beyond their margin. A quality does not: an interval without
    0 decides, unless all of it lies within the margin.
    """
    if -room <= effect.low and effect.high <= room:
        return "same"
    threshold = room if metric.kind in DRIFTING else 0.0
    better = metric.better or ""
    if effect.low > threshold:
        return {"higher": "better", "lower": "worse"}.get(better, "different")
    if effect.high < -threshold:
        return {"higher": "worse", "lower": "better"}.get(better, "different")
    return "inconclusive"
