"""A slow drift over the run, in words: where one was seen, and where the data cannot exclude one."""

import math
from collections.abc import Sequence

from ...measure.numbers import EntryComparison, EntryNumbers
from ...measure.statistics.drift import Drift
from ...reports.tables import count, is_number, percent
from ...reports.text import Text, listed
from .contents import between, entry_name, rounded
from .data import ReportData

MOST_NAMES = 3
SEEN = "the level drifted over the run, so its interval holds for this time only: "
HIDDEN = "a slow drift cannot be excluded, for it would have been seen only from this size on: "
# A name, the entry or comparison, and the share from which on a drift matters.
Drifting = tuple[Text, EntryNumbers | EntryComparison, object]


def drifts(data: ReportData) -> list[Text]:
    """At most one line for drifts that were seen, and one for those that may hide in the noise.

    An entry is told of if the drift matters for the precision that was asked for, a ratio if it does for the margin.
    """
    seen = []
    hidden = []
    for name, row, matters in _rows(data):
        drift = row.drift
        width = _half_width(row)
        if drift is None or width is None or not is_number(matters):
            continue
        excludes_zero = drift.low * drift.high > 0
        if excludes_zero and abs(drift.change) > matters:
            seen.append([name, " by ", _change(drift)])
        elif drift.detectable > max(width, matters):
            hidden.append([name, " ", _limit(drift, width)])
    return [*_line(SEEN, seen), *_line(HIDDEN, hidden)]


def _rows(data: ReportData) -> list[Drifting]:
    """Every entry and comparison: its name, its numbers, and the share from which on a drift matters."""
    precision = data.plan.precision
    margin = data.plan.margin
    rows: list[Drifting] = []
    for entry in data.entries:
        name = entry_name(data, entry.name)
        rows.append((name, entry, precision))
    for comparison in data.comparisons:
        name = between(data, comparison)
        rows.append((name, comparison, margin))
    return rows


def _half_width(row: EntryNumbers | EntryComparison) -> float | None:
    """Half the width of the interval as a share of its middle."""
    if row.low is None or row.high is None or row.low <= 0:
        return None
    return math.sqrt(row.high / row.low) - 1


def _change(drift: Drift) -> str:
    change = _percent(drift.change)
    low = _percent(drift.low)
    high = _percent(drift.high)
    medians = count(drift.n)
    return f"{change} [{low}, {high}], {medians} medians"


def _limit(drift: Drift, width: float) -> str:
    smallest = _percent(drift.detectable)
    medians = count(drift.n)
    interval = _percent(width)
    return f"{smallest} ({medians} medians, interval ±{interval})"


def _percent(share: float) -> str:
    if abs(share) >= 0.1:
        return rounded(share)
    return percent(share, 2)


def _line(introduction: str, parts: Sequence[Text]) -> list[Text]:
    """One line with the first parts and the number of the others; none without parts."""
    if not parts:
        return []
    line = [introduction, *listed(parts[:MOST_NAMES], "; ")]
    others = len(parts) - MOST_NAMES
    if others > 0:
        line.append(f"; and {others} more")
    return [line]
