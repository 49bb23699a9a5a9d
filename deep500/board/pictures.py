"""The pictures of a board: time against quality, cost against quality, and a series in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import median
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
from ..reports.text import shortened
from .document import Board, League, ResultSeries, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 6
LONGEST_NAME = 24
WIDE = 30  # of the largest to the smallest value, from which on an axis is logarithmic
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
    return pictures | series_pictures(board.series)


def series_pictures(all_series: Sequence[ResultSeries]) -> dict[str, Sequence[Picture]]:
    """The picture of every series of which all results have a value."""
    pictures: dict[str, Sequence[Picture]] = {}
    with settings():
        for series in all_series:
            dots = [_dot(point.score) for point in series.points]
            drawable = [dot for dot in dots if dot is not None]
            if len(drawable) == len(dots):
                draw = partial(_in_time, series, drawable)
                pictures[series.key] = for_phones_too(draw)
    return pictures


def _of_league(league: League) -> list[Picture]:
    pictures: list[Picture] = []
    for x in (league.ranked_by, league.cost):
        if x is None or league.quality is None:
            continue
        points = [_point(row, x, league.quality) for row in league.rows]
        drawable = [point for point in points if point is not None]
        if len(drawable) > 1:
            draw = partial(_front, league, drawable, x, league.quality)
            pictures += for_phones_too(draw)
    return pictures


@dataclass(frozen=True)
class Dot:
    """A value that can be drawn, with the ends of its interval if both are known."""

    value: float
    interval: tuple[float, float] | None

    @property
    def ends(self) -> tuple[float, ...]:
        return (self.value, *(self.interval or ()))


@dataclass(frozen=True)
class FrontPoint:
    """An entry in the picture."""

    entry: str
    unbeaten: bool
    x: Dot
    y: Dot


def _dot(score: Score | None) -> Dot | None:
    if score is None or score.value is None or abs(score.value) >= LARGEST:
        return None
    if score.low is None or score.high is None:
        return Dot(score.value, None)
    return Dot(score.value, (score.low, score.high))


def _point(row: Row, x: str, y: str) -> FrontPoint | None:
    across, up = _dot(row.score(x)), _dot(row.score(y))
    if across is None or up is None:
        return None
    return FrontPoint(row.entry, bool(row.unbeaten), across, up)


def _front(
    league: League, points: Sequence[FrontPoint], x: str, y: str
) -> list[Picture]:
    canvas = figure(3.4)
    axes = canvas.subplots()
    for point in points:
        _cross(axes, point)
    unbeaten = [point for point in points if point.unbeaten]
    for point in unbeaten[:MOST_LABELS]:
        _label(axes, point)
    units = {score.name: score.unit for score in league.rows[0].scores}
    axes.set_xlabel(_scaled(axes, "x", [point.x for point in points], x, units[x]))
    axes.set_ylabel(_scaled(axes, "y", [point.y for point in points], y, units[y]))
    axes.grid()
    name = f"front-{league.key}-{'time' if x == league.ranked_by else 'cost'}"
    title = f"{x} against {y}"
    image = svg(canvas, name, "Entries by two scores")
    caption = FRONT.format(x=x, y=y, n=len(points))
    return [Picture(name, title, image, caption)]


def _label(axes: "Axes", point: FrontPoint) -> None:
    axes.annotate(
        shortened(point.entry, LONGEST_NAME),
        (point.x.value, point.y.value),
        xytext=(5, 5),
        textcoords="offset points",
    )


def _cross(axes: "Axes", point: FrontPoint) -> None:
    """A dot with both of its intervals."""
    x, y = point.x, point.y
    ink = colour(0) if point.unbeaten else INK
    if x.interval:
        axes.plot(x.interval, (y.value, y.value), color=ink, lw=0.9)
    if y.interval:
        axes.plot((x.value, x.value), y.interval, color=ink, lw=0.9)
    axes.plot(
        x.value,
        y.value,
        marker="o",
        ms=6,
        ls="none",
        color=ink,
        markerfacecolor=ink if point.unbeaten else "white",
    )


def _scaled(axes: "Axes", which: str, dots: Sequence[Dot], name: str, unit: str) -> str:
    """Give the axis its ticks; returns its label."""
    values = []
    for dot in dots:
        values += [end for end in dot.ends if abs(end) < LARGEST]
    low, high = min(values), max(values)
    log = low > 0 and high > WIDE * low
    if unit == "s" and low > 0:
        if log:
            scale = time_axis(axes, which, low / 1.2, high * 1.2, log)
        else:
            room = 0.06 * (high - low) or 0.05 * high
            scale = time_axis(axes, which, low - room, high + room, log)
        return f"{name} ({scale})"
    scale = number_axis(axes, which, low, high, log)
    units = ", ".join(filter(None, (unit, scale)))
    return f"{name} ({units})" if units else name


def _in_time(series: ResultSeries, dots: Sequence[Dot]) -> list[Picture]:
    canvas = figure(2.6)
    axes = canvas.subplots()
    for place, dot in enumerate(dots, 1):
        if dot.interval:
            axes.plot((place, place), dot.interval, color=INK, lw=0.9)
        axes.plot(place, dot.value, marker="o", ms=5, ls="none", color=colour(0))
    entries = [point.entry for point in series.points]
    starts = [entries.index(shift.after) for shift in series.shifts]
    for first, last in pairwise([0, *starts, len(entries)]):
        middle = median(dot.value for dot in dots[first:last])
        ends = first + 0.6, last + 0.4
        axes.plot(ends, (middle, middle), color=INK, lw=1.6, alpha=0.6)
    for shift, start in zip(series.shifts, starts, strict=True):
        earliest = entries.index(shift.earliest) + 0.5
        latest = entries.index(shift.latest) + 0.5
        axes.axvspan(earliest, latest, color=colour(1), alpha=0.15, lw=0)
        axes.axvline(start + 0.5, color=colour(1), lw=1.3, ls=(0, (4, 2)))
    axes.set_xlim(0.4, len(entries) + 0.6)
    axes.set_xlabel("result, in the order of time")
    unit = series.points[0].score.unit
    axes.set_ylabel(_scaled(axes, "y", dots, series.score, unit))
    axes.grid(axis="y")
    name = f"series-{series.key}"
    image = svg(canvas, name, "Results in the order of time")
    caption = IN_TIME.format(n=len(entries))
    return [Picture(name, f"{series.score} over time", image, caption)]
