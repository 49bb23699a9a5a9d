"""The pictures of a network benchmark: breakdown bars, latency against batch, memory against prediction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...measure.numbers import EntryNumbers
from ...reports.blocks import Picture
from ...reports.tables import is_number, unit_of
from ...reports.text import clean, shortened
from ..benching.data import ReportData
from ..benching.rates import work_of
from .breakdowns import NetworkBreakdown, NetworkNumbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_NAME = 44
MOST_KINDS = 8  # of operators that have a colour of their own
OTHERS = "others"
MIB = 2**20
BREAKDOWN = (
    "Medians of each operator alone, by kind; a line right of its bar is overhead, left of it "
    "operators run faster together."
)
LATENCY = "Median latency with its interval; both scales are logarithmic."
MEMORY = (
    "Peak memory of one run: bytes that the allocator handed out; the band is 20 % around the "
    "prediction."
)


@dataclass(frozen=True)
class Point:
    """What is drawn of one entry; memory in MiB, None if no allocator reported it."""

    candidate: str
    mode: str
    batch: float
    median: float
    low: float
    high: float
    predicted: float | None = None
    measured: float | None = None


def pictures(data: ReportData) -> list[Picture]:
    """All the pictures that the data allow."""
    from ...reports.canvas import drawn

    return drawn([breakdown_bars, latency, memory], data)


def breakdown_bars(data: ReportData) -> Picture | None:
    """A bar per entry: the time of each kind of operator, one behind the other, and the network's as a line."""
    from ...reports.canvas import INK, figure, svg

    breakdowns = []
    if isinstance(data.derived, NetworkNumbers):
        for breakdown in data.derived.breakdowns:
            if isinstance(breakdown, NetworkBreakdown):
                breakdowns.append(breakdown)
    if not breakdowns:
        return None
    kinds = _heaviest_kinds(breakdowns)
    medians = [breakdown.network.median for breakdown in breakdowns]
    scale, unit = unit_of(max(medians))
    canvas = figure(1.2 + 0.55 * len(breakdowns))
    axes = canvas.subplots()
    names = []
    for row, breakdown in enumerate(breakdowns):
        _bar(axes, row, _times_by_kind(breakdown, kinds), scale)
        whole = medians[row] / scale
        height = [row - 0.42, row + 0.42]
        axes.plot([whole, whole], height, color=INK, linewidth=3)
        names.append(shortened(clean(breakdown.of), LONGEST_NAME))
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel(f"time ({unit}); the thick line is the whole network")
    axes.legend(
        fontsize=7,
        ncols=4,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.35),
        frameon=False,
    )
    image = svg(canvas, "breakdown", BREAKDOWN)
    return Picture("breakdown", "Where the time goes", image, BREAKDOWN)


def latency(data: ReportData) -> Picture | None:
    """Lines of medians over the batch, with intervals, one panel per mode."""
    from ...reports.canvas import figure, svg

    points = _points(data)
    batches = sorted({point.batch for point in points})
    if len(batches) < 2:
        return None
    by_mode: dict[str, list[Point]] = {}
    for point in points:
        by_mode.setdefault(point.mode, []).append(point)
    candidates = list(dict.fromkeys(point.candidate for point in points))
    canvas = figure(3.2)
    panels = canvas.subplots(1, len(by_mode), squeeze=False)[0]
    for axes, (mode, of_mode) in zip(panels, by_mode.items(), strict=True):
        _latency_panel(axes, of_mode, candidates, batches)
        axes.set_title(mode)
    panels[0].set_ylabel("time per run")
    panels[0].legend(fontsize=7, frameon=False)
    image = svg(canvas, "latency", LATENCY)
    return Picture("latency", "Latency against batch", image, LATENCY)


def memory(data: ReportData) -> Picture | None:
    """Measured over predicted bytes, with the line where they are the same."""
    from ...reports.canvas import INK, colour, figure, number_axis, svg

    groups = _memory_groups(data)
    if not groups:
        return None
    canvas = figure(3.4)
    axes = canvas.subplots()
    numbers = []
    for i, (name, pairs) in enumerate(groups.items()):
        predicted, measured = zip(*pairs, strict=True)
        axes.scatter(predicted, measured, color=colour(i), label=name, s=24)
        numbers += [*predicted, *measured]
    low = min(numbers)
    high = max(numbers)
    diagonal = [low, high]
    axes.plot(diagonal, diagonal, color=INK, linewidth=1)
    axes.fill_between(
        diagonal,
        [0.8 * low, 0.8 * high],
        [1.2 * low, 1.2 * high],
        color=INK,
        alpha=0.15,
    )
    number_axis(axes, "x", low, high, log=True)
    number_axis(axes, "y", low, high, log=True)
    axes.set_xlabel("predicted (MiB)")
    axes.set_ylabel("measured (MiB)")
    axes.legend(fontsize=7, frameon=False)
    image = svg(canvas, "memory", MEMORY)
    return Picture("memory", "Memory against prediction", image, MEMORY)


def _memory_groups(data: ReportData) -> dict[str, list[tuple[float, float]]]:
    """Predicted and measured memory of every point that has both, by candidate and mode."""
    groups: dict[str, list[tuple[float, float]]] = {}
    for point in _points(data):
        if point.predicted and point.measured:
            name = f"{point.candidate}, {point.mode}"
            pair = point.predicted, point.measured
            groups.setdefault(name, []).append(pair)
    return groups


def _latency_panel(
    axes: "Axes",
    points: Sequence[Point],
    candidates: Sequence[str],
    batches: Sequence[float],
) -> None:
    """A line with its band for every candidate."""
    from ...reports.canvas import time_axis

    for i, candidate in enumerate(candidates):
        line = [point for point in points if point.candidate == candidate]
        line.sort(key=lambda point: point.batch)
        _latency_line(axes, i, candidate, line)
    least = min(point.low for point in points)
    most = max(point.high for point in points)
    time_axis(axes, "y", least / 1.3, most * 1.3, log=True)
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, [f"{batch:g}" for batch in batches])
    axes.minorticks_off()
    axes.set_xlabel("batch")
    axes.grid(True)


def _latency_line(axes: "Axes", i: int, label: str, points: Sequence[Point]) -> None:
    from ...reports.canvas import colour, dashes

    batches = []
    medians = []
    lows = []
    highs = []
    for point in points:
        batches.append(point.batch)
        medians.append(point.median)
        lows.append(point.low)
        highs.append(point.high)
    axes.plot(
        batches,
        medians,
        marker="o",
        color=colour(i),
        linestyle=dashes(i),
        label=label,
    )
    axes.fill_between(batches, lows, highs, color=colour(i), alpha=0.25, linewidth=0)


def _bar(axes: "Axes", row: int, times: Mapping[str, float], scale: float) -> None:
    """The times of all kinds in one bar; the first bar names them in the legend."""
    from ...reports.canvas import COLOURS, INK

    end = 0.0
    for k, (kind, time) in enumerate(times.items()):
        style: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)]}
        if kind == OTHERS:
            style["color"] = INK
        elif k >= len(COLOURS):
            style["hatch"] = "//"
        if row == 0:
            style["label"] = kind
        width = time / scale
        axes.barh(row, width, 0.6, left=end, **style)
        end += width


def _heaviest_kinds(breakdowns: Sequence[NetworkBreakdown]) -> list[str]:
    """The kinds of operators that take most of the time in all breakdowns, the heaviest first."""
    totals: dict[str, float] = {}
    for breakdown in breakdowns:
        for row in breakdown.operators:
            kind = row.operator
            totals[kind] = totals.get(kind, 0.0) + row.median
    heaviest_first = sorted(totals, key=lambda kind: -totals[kind])
    return heaviest_first[:MOST_KINDS]


def _times_by_kind(
    breakdown: NetworkBreakdown, kinds: Sequence[str]
) -> dict[str, float]:
    """The sum of medians of each kind, and of all others."""
    times = dict.fromkeys((*kinds, OTHERS), 0.0)
    for row in breakdown.operators:
        kind = row.operator
        if kind not in times:
            kind = OTHERS
        times[kind] += row.median
    return times


def _points(data: ReportData) -> list[Point]:
    """What can be drawn of every entry."""
    points = []
    for entry in data.entries:
        point = _point(entry, work_of(data, entry.name))
        if point:
            points.append(point)
    return points


def _point(entry: EntryNumbers, work: Mapping[str, object]) -> Point | None:
    """What is drawn of one entry; None without a batch."""
    batch = entry.levels.get("batch")
    if not is_number(batch):
        return None
    low = entry.low or entry.median
    high = entry.high or entry.median
    candidate = clean(str(work.get("candidate", entry.name)))
    mode = clean(str(entry.levels.get("mode")))
    point = Point(candidate, mode, batch, entry.median, low, high)
    predicted = work.get("predicted_memory")
    measured = work.get("measured_memory")
    by_allocator = work.get("memory_by") == "allocator"
    if not (by_allocator and is_number(predicted) and is_number(measured)):
        return point
    return replace(point, predicted=predicted / MIB, measured=measured / MIB)
