"""The table of the time spent in all regions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import TooFewSamples
from .durations import Durations, Path

LEVEL = 0.95
UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
COLUMNS = (
    "calls",
    "total",
    "self",
    "of parent",
    "of whole",
    "median",
    "interval",
    "min",
    "max",
    "raised",
)


@dataclass(frozen=True)
class BreakdownRow:
    """One path; `self_s` is its total without its children, `samples` is the number of durations behind the median."""

    path: Path
    calls: int
    raised: int
    open: int
    total_s: float
    self_s: float
    share_of_parent: float | None
    share_of_whole: float | None
    median_s: float | None
    low_s: float | None
    high_s: float | None
    samples: int
    note: str
    min_s: float | None
    max_s: float | None


@dataclass(frozen=True)
class Breakdown:
    """The rows, each followed by its children in the order of their totals; `str()` is the table."""

    rows: tuple[BreakdownRow, ...]
    whole_s: float
    level: float
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes as it is."""
        return asdict(self)

    def __str__(self) -> str:
        table = [("region", *COLUMNS), *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = []
        for name, *figures in table:
            padded = map(str.rjust, figures, widths[1:])
            cells = [name.ljust(widths[0]), *padded]
            lines.append("  ".join(cells))
        return "\n".join([*lines, *self.notes])


def make_breakdown(durations: dict[Path, Durations], notes: Sequence[str]) -> Breakdown:
    """The breakdown of the paths that were used, with a note on the whole before the given ones."""
    used = {}
    for path, seen in durations.items():
        if seen.count or seen.open:
            used[path] = seen
    children = _children(used)
    outermost = children.get((), [])
    whole = math.fsum(used[path].total for path in outermost)
    rows = []
    waiting = outermost[::-1]
    # no recursion: a path may be longer than Python's stack is deep
    while waiting:
        path = waiting.pop()
        parent = path[:-1]
        below = children.get(path, [])
        above = used[parent].total if parent else whole
        inside = math.fsum(used[child].total for child in below)
        rows.append(_row(path, used[path], inside, above, whole))
        waiting.extend(reversed(below))
    all_notes = [
        f"whole: {_time(whole)} in outermost regions of all threads; intervals of medians at {LEVEL:.0%}"
    ]
    if any(row.open for row in rows):
        all_notes.append(
            "+ open: calls that go on, their time until now is in the total"
        )
    all_notes += notes
    return Breakdown(
        rows=tuple(rows), whole_s=whole, level=LEVEL, notes=tuple(all_notes)
    )


def _children(durations: dict[Path, Durations]) -> dict[Path, list[Path]]:
    """The paths below each path, largest total first; a parent without calls is added to `durations`."""
    for path in list(durations):
        while (path := path[:-1]) and path not in durations:
            durations[path] = Durations()
    children: dict[Path, list[Path]] = {}
    largest_first = sorted(
        durations, key=lambda path: durations[path].total, reverse=True
    )
    for path in largest_first:
        children.setdefault(path[:-1], []).append(path)
    return children


def _row(
    path: Path, seen: Durations, inside: float, above: float, whole: float
) -> BreakdownRow:
    from ..statistics.intervals import interval

    median = low = high = None
    note = "no call has ended"
    if seen.kept:
        median = statistics.median(seen.kept)
        try:
            of_median = interval(seen.kept.tolist(), level=LEVEL)
        except TooFewSamples as error:
            note = str(error)
        else:
            median = of_median.estimate
            low = of_median.low
            high = of_median.high
            note = ""
    return BreakdownRow(
        path=path,
        calls=seen.count,
        raised=seen.raised,
        open=seen.open,
        total_s=seen.total,
        self_s=seen.total - inside,
        share_of_parent=seen.total / above if above else None,
        share_of_whole=seen.total / whole if whole else None,
        median_s=median,
        low_s=low,
        high_s=high,
        samples=len(seen.kept),
        note=note,
        min_s=seen.low if seen.count else None,
        max_s=seen.high if seen.count else None,
    )


def _cells(row: BreakdownRow) -> tuple[str, ...]:
    indent = "  " * (len(row.path) - 1)
    calls = str(row.calls)
    if row.open:
        calls = f"{row.calls} + {row.open} open"
    return (
        indent + row.path[-1],
        calls,
        _time(row.total_s),
        _time(row.self_s),
        _share(row.share_of_parent),
        _share(row.share_of_whole),
        _time(row.median_s),
        _interval(row),
        _time(row.min_s),
        _time(row.max_s),
        str(row.raised),
    )


def _interval(row: BreakdownRow) -> str:
    if not row.calls:
        return "-"
    if row.low_s is None:
        return "n too small"
    low = _time(row.low_s)
    high = _time(row.high_s)
    return f"[{low}, {high}]"


def _share(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1%}"


def _time(seconds: float | None) -> str:
    """Three digits and the unit that suits them."""
    if seconds is None:
        return "-"
    for unit, size in UNITS.items():
        if abs(seconds) >= 0.9995 * size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def _three_digits(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}"
