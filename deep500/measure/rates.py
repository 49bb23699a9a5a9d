"""Rates of work from times: flop/s, B/s, and the fraction of the roofline that was reached."""

from collections.abc import Mapping
from typing import Any

from ..errors import Deep500Error, Unsupported
from .bounds.peak_cache import Peaks, peaks_from_json
from .bounds.roofline import roofline


def rates(
    entry: Mapping[str, Any], work: Mapping[str, Any], peaks: object
) -> dict[str, Any]:
    """flop/s and B/s at the median time, with intervals from that of the median, and the fraction of the roofline."""
    # the longest time gives the lowest rate
    times = [entry["median"], entry["high"], entry["low"]]
    flops = _count(work, "flops")
    moved = _count(work, "bytes")
    summary: dict[str, Any] = {}
    if flops:
        summary["flops"] = _rate(flops, times)
    if moved:
        summary["bytes"] = _rate(moved, times)
    machine = peaks_from_json(peaks) if isinstance(peaks, Mapping) else None
    return summary | _share(times, work, machine)


def _rate(amount: float, times: list) -> dict[str, float | None]:
    rates = [amount / time if time else None for time in times]
    return dict(zip(("value", "low", "high"), rates, strict=True))


def _share(
    times: list, work: Mapping[str, Any], peaks: Peaks | None
) -> dict[str, Any]:
    flops = _count(work, "flops")
    moved = _count(work, "bytes")
    dtype = str(work.get("dtype"))
    if not peaks or not flops or not moved:
        return _no_roofline(
            "the peaks of the machine, or the work of a call, are not known"
        )
    lines = []
    for time in times:
        try:
            line = roofline(flops, moved, time, dtype, peaks) if time else None
        except Unsupported as reason:
            return _no_roofline(str(reason))
        lines.append(line)
    middle, low, high = lines
    if middle is None:
        return _no_roofline("there is no time")
    summary = {
        "value": middle.fraction,
        "low": low and low.fraction,
        "high": high and high.fraction,
        "limited_by": middle.limited_by,
        "alarm": middle.alarm,
    }
    return {"roofline": summary}


def _no_roofline(reason: str) -> dict[str, Any]:
    return {"roofline": None, "no_roofline": reason}


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
