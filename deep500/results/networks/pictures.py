"""The pictures of a network benchmark: breakdown bars, latency against batch, memory against prediction."""

from collections.abc import Callable, Mapping
from typing import Any

from ...reports.blocks import Picture
from ...reports.tables import is_number, unit_of
from ...reports.text import clean, shortened
from ..benching.data import ReportData

MOST_BARS = 8  # operators with a colour of their own
MIB = 2**20


def pictures(data: ReportData) -> list[Picture]:
    """All that the data allow."""
    from ...reports.canvas import settings

    makers: tuple[Callable[[ReportData], Picture | None], ...] = (breakdown_bars, latency, memory)
    with settings():
        return [picture for make in makers if (picture := make(data))]


def breakdown_bars(data: ReportData) -> Picture | None:
    """A bar per entry: the time of each kind of operator, one behind the other, and the network's as a line."""
    from ...reports.canvas import COLOURS, INK, figure, svg

    found = [b for b in data.derived.get("breakdowns") or [] if "unsupported" not in b]
    if not found:
        return None
    kinds = _heaviest_kinds(found)
    drawn = figure(1.2 + 0.55 * len(found))
    axes = drawn.subplots()
    scale, unit = unit_of(max(b["network"]["median"] for b in found))
    for i, one in enumerate(found):
        left = 0.0
        for k, kind in enumerate([*kinds, "others"]):
            width = _time_of(one, kind, kinds) / scale
            label = kind if i == 0 else None
            colour = COLOURS[k % len(COLOURS)] if k < len(kinds) else INK
            hatch = "//" if k >= len(COLOURS) else None
            axes.barh(i, width, 0.6, left=left, color=colour, label=label, hatch=hatch)
            left += width
        whole = one["network"]["median"] / scale
        axes.plot([whole, whole], [i - 0.42, i + 0.42], color=INK, linewidth=3)
    axes.set_yticks(range(len(found)), [shortened(clean(b["of"]), 44) for b in found])
    axes.invert_yaxis()
    axes.set_xlabel(f"time ({unit}); the thick line is the whole network")
    axes.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.4, -0.35), frameon=False)
    text = "Medians of each operator alone, by kind; a line right of its bar is overhead, left of it fusion."
    return Picture("breakdown", "Where the time goes", svg(drawn, "breakdown", text), text)


def latency(data: ReportData) -> Picture | None:
    """Lines of medians over the batch, with intervals, one panel per mode."""
    from ...reports.canvas import colour, dashes, figure, svg, time_axis

    lines = _lines(data)
    batches = {batch for points in lines.values() for batch, *_ in points}
    if len(batches) < 2:
        return None
    modes = list(dict.fromkeys(mode for mode, _ in lines))
    drawn = figure(3.2)
    panels = drawn.subplots(1, len(modes), squeeze=False)[0]
    names = list(dict.fromkeys(name for _, name in lines))
    for mode, axes in zip(modes, panels, strict=True):
        for (own, name), points in lines.items():
            if own != mode:
                continue
            i = names.index(name)
            xs, ys, lows, highs = zip(*sorted(points), strict=True)
            axes.plot(xs, ys, marker="o", color=colour(i), linestyle=dashes(i), label=name)
            axes.fill_between(xs, lows, highs, color=colour(i), alpha=0.25, linewidth=0)
        ends = [
            end
            for (own, _), points in lines.items()
            if own == mode
            for p in points
            for end in p[2:]
        ]
        time_axis(axes, "y", min(ends) / 1.3, max(ends) * 1.3, log=True)
        axes.set_xscale("log", base=2)
        axes.set_xticks(sorted(batches), [f"{b:g}" for b in sorted(batches)])
        axes.minorticks_off()
        axes.set_title(mode)
        axes.set_xlabel("batch")
        axes.grid(True)
    panels[0].set_ylabel("time per run")
    panels[0].legend(fontsize=7, frameon=False)
    text = "Median latency with its interval; logarithmic scales, where a straight line at 45° is proportional."
    return Picture("latency", "Latency against batch", svg(drawn, "latency", text), text)


def memory(data: ReportData) -> Picture | None:
    """Measured over predicted bytes, with the line where they are the same."""
    from ...reports.canvas import INK, colour, figure, number_axis, svg

    points = _memory_points(data)
    if not points:
        return None
    drawn = figure(3.4)
    axes = drawn.subplots()
    names = list(dict.fromkeys(name for name, *_ in points))
    for i, name in enumerate(names):
        own = [(x, y) for n, x, y in points if n == name]
        xs, ys = zip(*own, strict=True)
        axes.scatter(xs, ys, color=colour(i), label=name, s=24)
    ends = [min(min(x, y) for _, x, y in points), max(max(x, y) for _, x, y in points)]
    axes.plot(ends, ends, color=INK, linewidth=1)
    axes.fill_between(ends, [0.8 * e for e in ends], [1.2 * e for e in ends], color=INK, alpha=0.15)
    for which in ("x", "y"):
        number_axis(axes, which, ends[0], ends[1], log=True)
    axes.set_xlabel("predicted (MiB)")
    axes.set_ylabel("measured (MiB)")
    axes.legend(fontsize=7, frameon=False)
    text = "Peak memory of one run: bytes that the allocator handed out; the band is 20 % around the prediction."
    return Picture("memory", "Memory against prediction", svg(drawn, "memory", text), text)


def _heaviest_kinds(found: list[Mapping[str, Any]]) -> list[str]:
    totals: dict[str, float] = {}
    for one in found:
        for row in one["operators"]:
            totals[row["operator"]] = totals.get(row["operator"], 0.0) + row["median"]
    return sorted(totals, key=lambda kind: -totals[kind])[:MOST_BARS]


def _time_of(one: Mapping[str, Any], kind: str, kinds: list[str]) -> float:
    wanted = [r for r in one["operators"] if r["operator"] == kind]
    if kind == "others":
        wanted = [r for r in one["operators"] if r["operator"] not in kinds]
    return sum(row["median"] for row in wanted)


def _entries(data: ReportData) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    planned = {e["name"]: e.get("work") or {} for e in data.plan.get("entries") or []}
    return [(entry, planned.get(entry["name"]) or {}) for entry in data.entries]


def _lines(data: ReportData) -> dict[tuple[str, str], list[tuple[float, float, float, float]]]:
    """(batch, median, low, high) by mode and candidate."""
    lines: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for entry, work in _entries(data):
        levels = dict(entry.get("levels") or {})
        numbers = [levels.get("batch"), *(entry.get(k) for k in ("median", "low", "high"))]
        batch, median, low, high = numbers
        if not (is_number(batch) and is_number(median)):
            continue
        ends = (low, high) if is_number(low) and is_number(high) else (median, median)
        key = (clean(str(levels.get("mode"))), clean(str(work.get("candidate", entry["name"]))))
        lines.setdefault(key, []).append((batch, median, *ends))
    return lines


def _memory_points(data: ReportData) -> list[tuple[str, float, float]]:
    """(candidate and mode, predicted, measured) where an allocator told."""
    points = []
    for entry, work in _entries(data):
        got, wanted = work.get("measured_memory"), work.get("predicted_memory")
        told = work.get("memory_by") == "allocator"
        if told and is_number(got) and is_number(wanted) and got > 0 and wanted > 0:
            mode = clean(str(dict(entry.get("levels") or {}).get("mode")))
            name = f"{clean(str(work.get('candidate')))}, {mode}"
            points.append((name, wanted / MIB, got / MIB))
    return points
