"""Rates of work from times: flop/s, B/s, and the fraction of the roofline that was reached."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..errors import Deep500Error, Unsupported
from .bounds.peak_cache import peaks_from_json
from .bounds.roofline import Roofline, roofline
from .numbers import Rate, Rates, RooflineShare

# the median time with its interval
Times = tuple[float, float | None, float | None]


def rates(
    times: Times, work: Mapping[str, Any], peaks: Mapping[str, Any] | None
) -> Rates:
    """flop/s and B/s at the median time, with intervals from that of the median, and the fraction of the roofline."""
    flops = _count(work, "flops")
    moved = _count(work, "bytes")
    machine = peaks_from_json(peaks) if peaks is not None else None
    share: RooflineShare | None = None
    reason: str | None = (
        "the peaks of the machine, or the work of a call, are not known"
    )
    if machine and flops and moved:
        bound = partial(
            roofline, flops, moved, dtype=str(work.get("dtype")), peaks=machine
        )
        share, reason = _share(times, bound)
    return Rates(_rate(flops, times), _rate(moved, times), share, reason)


def _rate(amount: float | None, times: Times) -> Rate | None:
    """Work per second; the longest time gives the lowest rate."""
    if not amount:
        return None
    rates = []
    for time in _from_middle_to_lowest_rate(times):
        rates.append(amount / time if time else None)
    return Rate(*rates)


def _share(
    times: Times, bound: Callable[[float], Roofline]
) -> tuple[RooflineShare | None, str | None]:
    """The share of the roofline, or why there is none."""
    lines = []
    for time in _from_middle_to_lowest_rate(times):
        try:
            lines.append(bound(time) if time else None)
        except Unsupported as reason:
            return None, str(reason)
    middle, low, high = lines
    if middle is None:
        return None, "there is no time"
    share = RooflineShare(
        middle.fraction,
        low.fraction if low else None,
        high.fraction if high else None,
        middle.limited_by,
        middle.alarm,
    )
    return share, None


def _from_middle_to_lowest_rate(times: Times) -> Times:
    """The median, and the times that give the lowest and the highest rate."""
    median, low, high = times
    return median, high, low


def _count(work: Mapping[str, Any], key: str) -> float | None:
    """A count from a plan that may come from anyone."""
    value = work.get(key)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < 1e30:
        raise Deep500Error(
            f"plan.json: {key} = {str(value)[:40]} is not a count of what a call does"
        )
    return value
