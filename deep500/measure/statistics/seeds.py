"""The median of a few independent values, one for each seed of a training run, with its interval.

From six values on (at 95 %) the interval comes from ranks and holds for any distribution. Three to five values cannot
give that: their interval is Student's t on the stretched scale, which assumes that the values are symmetric there, and
it is never narrower than from the smallest to the largest value.
"""

import math
from collections.abc import Sequence
from statistics import median

import numpy as np

from ...errors import TooFewSamples
from .intervals import (
    Interval,
    checked_fraction,
    rank_interval,
    smallest_sample,
    t_interval,
)
from .scales import REAL, Scale, fitting_scale

FEWEST_SEEDS = 3


def seeds_interval(
    values: Sequence[float], scale: Scale = REAL, level: float = 0.95
) -> Interval:
    """The median with its interval, which lies in the range of the scale; raises TooFewSamples below three values."""
    level = checked_fraction("level", level)
    count = len(values)
    if count < FEWEST_SEEDS:
        seeds = "1 seed" if count == 1 else f"{count} seeds"
        raise TooFewSamples(
            f"an interval over {seeds} was asked for; at least {FEWEST_SEEDS} are needed"
        )
    ordered = sorted(values)
    if ordered[0] == ordered[-1]:
        return _interval(ordered, ordered[0], ordered[0], level, "all values equal")
    if count >= smallest_sample(0.5, level):
        low, high = rank_interval(ordered, level)
        method = "binomial ranks of the seeds"
        if len(set(ordered)) == count:
            method += ", Nyblom-interpolated"
        return _interval(ordered, low, high, level, method)
    scale = fitting_scale(scale, ordered)
    low, high, name = _few(ordered, scale, level)
    low = scale.clipped(min(low, ordered[0]))
    high = scale.clipped(max(high, ordered[-1]))
    return _interval(
        ordered,
        low,
        high,
        level,
        f"t on the {name} of the seeds, taken as symmetric",
    )


def seeds_interval_with_missing(
    values: Sequence[float], level: float = 0.95
) -> Interval:
    """The interval by ranks where infinite values stand for seeds without one; raises TooFewSamples below six values.

    An end that no value gives is infinite, and so is the estimate if half of the values are.
    """
    needed = smallest_sample(0.5, checked_fraction("level", level))
    if len(values) < needed:
        raise TooFewSamples(
            f"an interval over {len(values)} seeds, some without a value, was asked for; at least {needed} are needed"
        )
    ordered = sorted(values)
    low, high = rank_interval(ordered, level)
    method = "binomial ranks of the seeds, those without a value as the worst"
    return _interval(ordered, low, high, level, method)


def _few(
    ordered: Sequence[float], scale: Scale, level: float
) -> tuple[float, float, str]:
    """The t-interval on the stretched scale; at an end of the range, where it is infinite, on the values themselves."""
    places = [scale.stretched(value) for value in ordered]
    if not all(map(math.isfinite, places)):
        _, low, high = t_interval(np.array(ordered), level)
        return low, high, REAL.name
    _, low, high = t_interval(np.array(places), level)
    return scale.value_at(low), scale.value_at(high), scale.name


def _interval(
    ordered: Sequence[float], low: float, high: float, level: float, method: str
) -> Interval:
    return Interval(
        estimate=_middle(ordered),
        low=low,
        high=high,
        n=len(ordered),
        level=level,
        quantile=0.5,
        method=method,
        effective_n=float(len(ordered)),
        processes=len(ordered),
    )


def _middle(ordered: Sequence[float]) -> float:
    """The median; infinite values of both signs have none between them, so the worse counts."""
    count = len(ordered)
    pair = ordered[(count - 1) // 2], ordered[count // 2]
    if math.isinf(pair[0]) and math.isinf(pair[1]):
        return pair[0]
    return median(ordered)
