"""What a time means for the work that was done in it: rates, and the share of what this machine could do at most."""

from collections.abc import Mapping
from typing import Any

from ..errors import Deep500Error, Unsupported
from .bounds.peak_cache import Peaks, peaks_from_json
from .bounds.roofline import roofline


def rates(
    entry: Mapping[str, Any], work: Mapping[str, Any], peaks: object
) -> dict[str, Any]:
    """flop/s and B/s at the median, with the interval of the median turned over, and the fraction of the roofline."""
    times = [
        entry["median"],
        entry["high"],
        entry["low"],
    ]  # the longest time gives the lowest rate
    found = {
        name: dict(
            zip(
                ("value", "low", "high"),
                [amount / t if t else None for t in times],
                strict=True,
            )
        )
        for name, amount in (
            ("flops", _count(work, "flops")),
            ("bytes", _count(work, "bytes")),
        )
        if amount
    }
    return found | _share(
        times, work, peaks_from_json(peaks) if isinstance(peaks, Mapping) else None
    )


def _share(times: list, work: Mapping[str, Any], peaks: Peaks | None) -> dict[str, Any]:
    flops, moved, dtype = (
        _count(work, "flops"),
        _count(work, "bytes"),
        str(work.get("dtype")),
    )
    if not peaks or not flops or not moved:
        return {
            "roofline": None,
            "no_roofline": "the peaks of the machine, or the work of a call, are not known",
        }
    try:
        lines = [roofline(flops, moved, t, dtype, peaks) if t else None for t in times]
    except Unsupported as reason:
        return {"roofline": None, "no_roofline": str(reason)}
    middle, low, high = lines
    if middle is None:
        return {"roofline": None, "no_roofline": "there is no time"}
    return {
        "roofline": {
            "value": middle.fraction,
            "low": low and low.fraction,
            "high": high and high.fraction,
            "limited_by": middle.limited_by,
            "alarm": middle.alarm,
        }
    }


def _count(work: Mapping[str, Any], key: str) -> float | None:
    """A count from a plan that may come from anyone."""
    value = work.get(key)
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 <= value < 1e30
    ):
        raise Deep500Error(
            f"plan.json: {key} = {str(value)[:40]} is not a count of what a call does"
        )
    return value
