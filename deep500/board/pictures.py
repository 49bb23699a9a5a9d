"""The pictures of a board: time against quality, cost against quality, and a series in the order of time."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from ..contracts.standing import Score
from ..reports.blocks import Picture
from ..reports.canvas import (
    INK,
    colour,
    figure,
    for_phones_too,
    number_axis,
    settings,
    svg,
    time_axis,
)
from .document import Board, League, Row, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 6
LARGEST = 1e100  # beyond, nothing can be drawn
FRONT = (
    "A dot is an entry: its median, with the intervals as lines (none where there is no interval). Full dots are "
    "unbeaten: no other entry has both a better {x} and a better {y}, by the medians. n = {n} entries."
)
IN_TIME = (
    "A dot is a result, in the order of time, with its interval. Grey lines: the median of each level. Dashed: where a "
    "new level begins; its shade is where it may begin as well. n = {n} results."
)


def board_pictures(board: Board) -> dict[str, Sequence[Picture]]:
    """All pictures by the key of their league or series."""
    pictures: dict[str, Sequence[Picture]] = {}
    with settings():
        for league in board.leagues:
            pictures[league.key] = _of_league(league)
        for series in board.series:
            if all(_drawn(point.score) for point in series.points):
                pictures[series.key] = for_phones_too(partial(_in_time, series))
    return pictures


def _of_league(league: League) -> list[Picture]:
    pictures: list[Picture] = []
    for x in (league.ranked_by, league.cost):
        if x is None or league.quality is None:
            continue
        rows = [row for row in league.rows if _has_both(row, x, league.quality)]
        if len(rows) > 1:
            pictures += for_phones_too(partial(_front, league, rows, x, league.quality))
    return pictures


def _has_both(row: Row, x: str, y: str) -> bool:
    return _drawn(row.score(x)) and _drawn(row.score(y))


def _drawn(score: Score | None) -> bool:
    return score is not None and score.value is not None and abs(score.value) < LARGEST


def _front(league: League, rows: Sequence[Row], x: str, y: str) -> list[Picture]:
    canvas = figure(3.4)
    axes = canvas.subplots()
    labelled = 0
    for row in rows:
        across, up = row.score(x), row.score(y)
        assert across is not None and up is not None
        ink = colour(0) if row.unbeaten else INK
        _cross(axes, across, up, ink, bool(row.unbeaten))
        if row.unbeaten and labelled < MOST_LABELS:
            _label(axes, row.entry, across, up)
            labelled += 1
    xs = [score for row in rows if (score := row.score(x))]
    ys = [score for row in rows if (score := row.score(y))]
    axes.set_xlabel(_scaled(axes, "x", xs, x))
    axes.set_ylabel(_scaled(axes, "y", ys, y))
    axes.grid()
    name = f"front-{league.key}-{'time' if x == league.ranked_by else 'cost'}"
    title = f"{x} against {y}"
    image = svg(canvas, name, "Entries by two scores")
    caption = FRONT.format(x=x, y=y, n=len(rows))
    return [Picture(name, title, image, caption)]


def _label(axes: "Axes", entry: str, across: Score, up: Score) -> None:
    text = entry if len(entry) <= 24 else f"{entry[:23]}…"
    axes.annotate(
        text,
        (across.value, up.value),  # type: ignore[arg-type]
        xytext=(5, 5),
        textcoords="offset points",
        fontsize=8,
    )


def _cross(axes: "Axes", across: Score, up: Score, ink: str, full: bool) -> None:
    """A dot with both of its intervals."""
    if across.low is not None and across.high is not None:
        axes.plot([across.low, across.high], [up.value] * 2, color=ink, lw=0.9)
    if up.low is not None and up.high is not None:
        axes.plot([across.value] * 2, [up.low, up.high], color=ink, lw=0.9)
    axes.plot(
        across.value,
        up.value,
        marker="o",
        ms=6,
        ls="none",
        color=ink,
        markerfacecolor=ink if full else "white",
    )


def _scaled(axes: "Axes", which: str, scores: Sequence[Score], name: str) -> str:
    """Give the axis its ticks; returns its label."""
    values = []
    for score in scores:
        ends = (score.low, score.value, score.high)
        values += [end for end in ends if end is not None and abs(end) < LARGEST]
    low, high = min(values), max(values)
    log = low > 0 and high > 30 * low
    if scores[0].unit == "s" and low > 0:
        room = 0 if log else 0.06 * (high - low) or 0.05 * high
        factor = 1.2 if log else 1
        ends = (low - room) / factor, (high + room) * factor
        scale = time_axis(axes, which, *ends, log)
        return f"{name} ({scale})"
    scale = number_axis(axes, which, low, high, log)
    units = ", ".join(filter(None, (scores[0].unit, scale)))
    return f"{name} ({units})" if units else name


def _in_time(series: Series) -> list[Picture]:
    canvas = figure(2.6)
    axes = canvas.subplots()
    entries = [point.entry for point in series.points]
    for place, point in enumerate(series.points, 1):
        score = point.score
        if score.low is not None and score.high is not None:
            axes.plot([place, place], [score.low, score.high], color=INK, lw=0.9)
        axes.plot(place, score.value, marker="o", ms=5, ls="none", color=colour(0))
    bounds = [0, *(entries.index(shift.after) for shift in series.shifts), len(entries)]
    for first, last in pairwise(bounds):
        values = sorted(p.score.value or 0.0 for p in series.points[first:last])
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        axes.plot([first + 0.6, last + 0.4], [middle] * 2, color=INK, lw=1.6, alpha=0.6)
    for shift in series.shifts:
        start = entries.index(shift.after) + 0.5
        edges = (
            entries.index(shift.earliest) + 0.5,
            entries.index(shift.latest) + 0.5,
        )
        axes.axvspan(*edges, color=colour(1), alpha=0.15, lw=0)
        axes.axvline(start, color=colour(1), lw=1.3, ls=(0, (4, 2)))
    axes.set_xlim(0.4, len(entries) + 0.6)
    axes.set_xlabel("result, in the order of time")
    scores = [point.score for point in series.points]
    axes.set_ylabel(_scaled(axes, "y", scores, series.score))
    axes.grid(axis="y")
    name = f"series-{series.key}"
    image = svg(canvas, name, "Results in the order of time")
    caption = IN_TIME.format(n=len(entries))
    return [Picture(name, f"{series.score} over time", image, caption)]
