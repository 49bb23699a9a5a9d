"""The pictures of a network benchmark: breakdown bars, latency against batch, memory against prediction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...reports.blocks import Picture
from ...reports.tables import is_number, unit_of
from ...reports.text import clean, shortened
from ..benching.data import ReportData

MOST_KINDS = 8  # of operators that have a colour of their own
OTHERS = "others"
MIB = 2**20


@dataclass(frozen=True)
class Point:
    """What is drawn of one entry; memory in MiB, None where no allocator told."""

    candidate: str
    mode: str
    batch: float
    median: float
    low: float
    high: float
    predicted: float | None = None
    measured: float | None = None


def pictures(data: ReportData) -> list[Picture]:
    """All that the data allow."""
    from ...reports.canvas import settings

    makers: tuple[Callable[[ReportData], Picture | None], ...] = (
        breakdown_bars,
        latency,
        memory,
    )
    with settings():
        return [picture for make in makers if (picture := make(data))]


def breakdown_bars(data: ReportData) -> Picture | None:
    """A bar per entry: the time of each kind of operator, one behind the other, and the network's as a line."""
    from ...reports.canvas import INK, figure, svg

    found = [b for b in data.derived.get("breakdowns") or [] if "unsupported" not in b]
    if not found:
        return None
    kinds = _heaviest_kinds(found)
    longest = max(one["network"]["median"] for one in found)
    scale, unit = unit_of(longest)
    drawn = figure(1.2 + 0.55 * len(found))
    axes = drawn.subplots()
    for i, one in enumerate(found):
        _bar(axes, i, _times_by_kind(one, kinds), scale)
        whole = one["network"]["median"] / scale
        axes.plot([whole, whole], [i - 0.42, i + 0.42], color=INK, linewidth=3)
    names = [shortened(clean(one["of"]), 44) for one in found]
    axes.set_yticks(range(len(found)), names)
    axes.invert_yaxis()
    axes.set_xlabel(f"time ({unit}); the thick line is the whole network")
    axes.legend(
        fontsize=7,
        ncols=4,
        loc="upper center",
        bbox_to_anchor=(0.4, -0.35),
        frameon=False,
    )
    text = (
        "Medians of each operator alone, by kind; a line right of its bar is overhead, left of it "
        "operators run faster together."
    )
    return Picture(
        "breakdown", "Where the time goes", svg(drawn, "breakdown", text), text
    )


def latency(data: ReportData) -> Picture | None:
    """Lines of medians over the batch, with intervals, one panel per mode."""
    from ...reports.canvas import figure, svg

    points = _points(data)
    batches = sorted({point.batch for point in points})
    if len(batches) < 2:
        return None
    modes = list(dict.fromkeys(point.mode for point in points))
    candidates = list(dict.fromkeys(point.candidate for point in points))
    drawn = figure(3.2)
    panels = drawn.subplots(1, len(modes), squeeze=False)[0]
    for mode, axes in zip(modes, panels, strict=True):
        own = [point for point in points if point.mode == mode]
        _latency_panel(axes, own, candidates, batches)
        axes.set_title(mode)
    panels[0].set_ylabel("time per run")
    panels[0].legend(fontsize=7, frameon=False)
    text = "Median latency with its interval; both scales are logarithmic."
    return Picture(
        "latency", "Latency against batch", svg(drawn, "latency", text), text
    )


def memory(data: ReportData) -> Picture | None:
    """Measured over predicted bytes, with the line where they are the same."""
    from ...reports.canvas import INK, colour, figure, number_axis, svg

    groups: dict[str, list[tuple[float, float]]] = {}
    for point in _points(data):
        if point.predicted and point.measured:
            name = f"{point.candidate}, {point.mode}"
            groups.setdefault(name, []).append((point.predicted, point.measured))
    if not groups:
        return None
    drawn = figure(3.4)
    axes = drawn.subplots()
    numbers: list[float] = []
    for i, (name, pairs) in enumerate(groups.items()):
        predicted, measured = zip(*pairs, strict=True)
        axes.scatter(predicted, measured, color=colour(i), label=name, s=24)
        numbers += [*predicted, *measured]
    low, high = min(numbers), max(numbers)
    axes.plot([low, high], [low, high], color=INK, linewidth=1)
    axes.fill_between(
        [low, high],
        [0.8 * low, 0.8 * high],
        [1.2 * low, 1.2 * high],
        color=INK,
        alpha=0.15,
    )
    for which in ("x", "y"):
        number_axis(axes, which, low, high, log=True)
    axes.set_xlabel("predicted (MiB)")
    axes.set_ylabel("measured (MiB)")
    axes.legend(fontsize=7, frameon=False)
    text = (
        "Peak memory of one run: bytes that the allocator handed out; the band is 20 % around the "
        "prediction."
    )
    return Picture(
        "memory", "Memory against prediction", svg(drawn, "memory", text), text
    )


def _latency_panel(
    axes: Any,
    points: Sequence[Point],
    candidates: Sequence[str],
    batches: Sequence[float],
) -> None:
    from ...reports.canvas import colour, dashes, time_axis

    for i, name in enumerate(candidates):
        own = sorted((p for p in points if p.candidate == name), key=lambda p: p.batch)
        xs = [p.batch for p in own]
        axes.plot(
            xs,
            [p.median for p in own],
            marker="o",
            color=colour(i),
            linestyle=dashes(i),
            label=name,
        )
        lows, highs = [p.low for p in own], [p.high for p in own]
        axes.fill_between(xs, lows, highs, color=colour(i), alpha=0.25, linewidth=0)
    least, most = min(p.low for p in points), max(p.high for p in points)
    time_axis(axes, "y", least / 1.3, most * 1.3, log=True)
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, [f"{batch:g}" for batch in batches])
    axes.minorticks_off()
    axes.set_xlabel("batch")
    axes.grid(True)


def _bar(axes: Any, place: int, times: Mapping[str, float], scale: float) -> None:
    from ...reports.canvas import COLOURS, INK

    left = 0.0
    for k, (kind, time) in enumerate(times.items()):
        style: dict[str, Any] = {"color": COLOURS[k % len(COLOURS)]}
        if kind == OTHERS:
            style["color"] = INK
        elif k >= len(COLOURS):
            style["hatch"] = "//"
        if place == 0:
            style["label"] = kind
        axes.barh(place, time / scale, 0.6, left=left, **style)
        left += time / scale


def _heaviest_kinds(found: Sequence[Mapping[str, Any]]) -> list[str]:
    totals: dict[str, float] = {}
    for one in found:
        for row in one["operators"]:
            totals[row["operator"]] = totals.get(row["operator"], 0.0) + row["median"]
    return sorted(totals, key=lambda kind: -totals[kind])[:MOST_KINDS]


def _times_by_kind(one: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, float]:
    """The sum of medians of each kind, and of all others."""
    times = dict.fromkeys((*kinds, OTHERS), 0.0)
    for row in one["operators"]:
        kind = row["operator"]
        times[kind if kind in times else OTHERS] += row["median"]
    return times


def _points(data: ReportData) -> list[Point]:
    work = {}
    for planned in data.plan.get("entries") or []:
        work[planned["name"]] = planned.get("work") or {}
    found = []
    for entry in data.entries:
        point = _point(entry, work.get(entry["name"], {}))
        if point:
            found.append(point)
    return found


def _point(entry: Mapping[str, Any], work: Mapping[str, Any]) -> Point | None:
    levels = dict(entry.get("levels") or {})
    batch, median, low, high = (
        levels.get("batch"),
        entry.get("median"),
        entry.get("low"),
        entry.get("high"),
    )
    if not (is_number(batch) and is_number(median)):
        return None
    if not (is_number(low) and is_number(high)):
        low = high = median
    candidate = clean(str(work.get("candidate", entry["name"])))
    mode = clean(str(levels.get("mode")))
    predicted, measured = work.get("predicted_memory"), work.get("measured_memory")
    told = work.get("memory_by") == "allocator"
    if not (told and is_number(predicted) and is_number(measured)):
        return Point(candidate, mode, batch, median, low, high)
    return Point(
        candidate, mode, batch, median, low, high, predicted / MIB, measured / MIB
    )
