"""Where the time went: the table over all regions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import TooFewSamples
from .durations import Durations, Path

LEVEL = 0.95
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
class Row:
    """One path; `self_s` is its total without what its children took, `samples` stand behind the median."""

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

    rows: tuple[Row, ...]
    whole_s: float
    level: float
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A dictionary that `json.dumps` takes as it is."""
        return asdict(self)

    def __str__(self) -> str:
        cells = [("region", *COLUMNS), *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([*lines, *self.notes])


def make_breakdown(durations: dict[Path, Durations], notes: Sequence[str]) -> Breakdown:
    found = {path: seen for path, seen in durations.items() if seen.count or seen.open}
    children = _children(found)
    whole = math.fsum(found[path].total for path in children.get((), []))
    rows = []
    waiting = [*reversed(children.get((), []))]
    while waiting:  # no recursion: a path may be longer than Python's stack is deep
        path = waiting.pop()
        below = children.get(path, [])
        above = found[path[:-1]].total if path[:-1] else whole
        inside = math.fsum(found[child].total for child in below)
        rows.append(_row(path, found[path], inside, above, whole))
        waiting.extend(reversed(below))
    told = [
        f"whole: {_time(whole)} in outermost regions of all threads; intervals of medians at {LEVEL:.0%}"
    ]
    if any(row.open for row in rows):
        told.append("+ open: calls that go on, their time until now is in the total")
    return Breakdown(tuple(rows), whole, LEVEL, (*told, *notes))


def _children(found: dict[Path, Durations]) -> dict[Path, list[Path]]:
    """The paths below each path, largest total first; a parent without calls is added to `found`."""
    for path in list(found):
        while (path := path[:-1]) and path not in found:
            found[path] = Durations()
    children: dict[Path, list[Path]] = {}
    for path in sorted(found, key=lambda path: found[path].total, reverse=True):
        children.setdefault(path[:-1], []).append(path)
    return children


def _row(path: Path, seen: Durations, inside: float, above: float, whole: float) -> Row:
    from ..statistics.intervals import interval

    median = low = high = None
    note = "no call has ended"
    if seen.kept:
        median = statistics.median(seen.kept)
        try:
            found = interval(seen.kept.tolist(), level=LEVEL)
            median, low, high, note = found.estimate, found.low, found.high, ""
        except TooFewSamples as error:
            note = str(error)
    return Row(
        path, seen.count, seen.raised, seen.open, seen.total, seen.total - inside,
        seen.total / above if above else None, seen.total / whole if whole else None,
        median, low, high, len(seen.kept), note,
        seen.low if seen.count else None, seen.high if seen.count else None,
    )  # fmt: skip


def _cells(row: Row) -> tuple[str, ...]:
    interval = (
        "n too small"
        if row.low_s is None
        else f"[{_time(row.low_s)}, {_time(row.high_s)}]"
    )
    return (
        "  " * (len(row.path) - 1) + row.path[-1],
        f"{row.calls} + {row.open} open" if row.open else str(row.calls),
        _time(row.total_s), _time(row.self_s), _share(row.share_of_parent), _share(row.share_of_whole),
        _time(row.median_s), interval if row.calls else "-", _time(row.min_s), _time(row.max_s),
        str(row.raised),
    )  # fmt: skip


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _time(seconds: float | None) -> str:
    """Three digits and the unit that suits them."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if abs(seconds) >= 0.9995 * size:
            return f"{_three_digits(seconds / size)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns"


def _three_digits(value: float) -> str:
    decimals = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{decimals}f}"
