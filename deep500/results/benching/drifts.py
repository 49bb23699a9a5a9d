"""A slow drift over the run, in words: where one was seen, and where the data cannot exclude one."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...reports.tables import count, is_number, percent
from ...reports.text import Text, listed
from .contents import between, entry_name, rounded
from .data import ReportData

MOST_NAMES = 3


def drifts(data: ReportData) -> list[Text]:
    """At most one line for drifts that were seen, and one for those that may hide in the noise.

    An entry is told of if the drift matters for the precision that was asked for, a ratio if it does for the margin.
    """
    precision, margin = data.plan.get("precision"), data.plan.get("margin")
    rows = [(entry_name(data, e["name"]), e, precision) for e in data.entries]
    rows += [(between(data, c), c, margin) for c in data.comparisons]
    seen: list[Text] = []
    hidden: list[Text] = []
    for name, row, matters in rows:
        change = row.get("drift") or {}
        figures = [change.get(key) for key in ("change", "low", "high", "detectable")]
        width = _half_width(row)
        if width is None or not is_number(matters) or not all(map(is_number, figures)):
            continue
        if change["low"] * change["high"] > 0 and abs(change["change"]) > matters:
            seen.append([name, " by ", _change(change)])
        elif change["detectable"] > max(width, matters):
            hidden.append([name, " ", _limit(change, width)])
    return [
        *_line(
            "the level drifted over the run, so its interval holds for this time only: ",
            seen,
        ),
        *_line(
            "a slow drift cannot be excluded, for it would have been seen only from this size on: ",
            hidden,
        ),
    ]


def _half_width(row: Mapping[str, Any]) -> float | None:
    low, high = row.get("low"), row.get("high")
    if not is_number(low) or not is_number(high) or not 0 < low <= high:
        return None
    return math.sqrt(high / low) - 1


def _change(change: Mapping[str, Any]) -> str:
    low, high = _percent(change["low"]), _percent(change["high"])
    return f"{_percent(change['change'])} [{low}, {high}], {count(change.get('n'))} medians"


def _limit(change: Mapping[str, Any], width: float) -> str:
    smallest = _percent(change["detectable"])
    return f"{smallest} ({count(change.get('n'))} medians, interval ±{_percent(width)})"


def _percent(share: float) -> str:
    return rounded(share) if abs(share) >= 0.1 else percent(share, 2)


def _line(words: str, parts: Sequence[Text]) -> list[Text]:
    if not parts:
        return []
    rest = len(parts) - MOST_NAMES
    more = [f"; and {rest} more"] if rest > 0 else []
    return [[words, *listed(parts[:MOST_NAMES], "; "), *more]]
