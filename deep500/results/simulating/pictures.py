"""The pictures of a simulation: what every rank did when, and the critical path through it."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeAlias

from ...reports.blocks import Picture
from .data import PathPart, SeedBlock
from .numbers import NANO, SimulationNumbers

COLOURED = ("work", "overhead", "bytes", "noise", "latency", "gap", "waiting")
TIMELINE = (
    "What every rank did: a line per rank, from left to right; where nothing is drawn it waited. The thin line is the "
    "critical path: the chain of causes that ended last."
)
SHARES = (
    "Where the time went: of all ranks' time, and of the critical path. Only what is on the critical path makes the "
    "whole shorter if it is made faster."
)
IDLE = "#cccccc"
Lines: TypeAlias = Sequence[PathPart]


def pictures(block: SeedBlock, numbers: SimulationNumbers) -> list[Picture]:
    from ...reports.canvas import settings

    drawn = []
    with settings():
        if block.timeline:
            drawn.append(_timeline(block, block.timeline))
        drawn.append(_where(numbers))
    return drawn


def _timeline(block: SeedBlock, timeline: Lines) -> Picture:
    from ...reports.canvas import INK, figure, legend_below, svg, time_axis

    ranks = max(part.rank for part in timeline) + 1
    canvas = figure(min(1.2 + 0.16 * ranks, 7.0))
    axes = canvas.subplots()
    unit = time_axis(axes, "x", 0.0, max(block.makespan, 1) / NANO, log=False)
    for activity in COLOURED:
        _bars(axes, activity, [part for part in timeline if part.activity == activity])
    if block.path is not None:
        for before, after in pairwise(block.path.parts):
            times = before.end / NANO, after.begin / NANO
            axes.plot(times, (before.rank, after.rank), color=INK, linewidth=0.6)
        for part in block.path.parts:
            times = part.begin / NANO, part.end / NANO
            axes.plot(times, (part.rank, part.rank), color=INK, linewidth=0.6)
    axes.set_ylim(ranks - 0.4, -0.6)
    axes.set_ylabel("rank")
    axes.set_xlabel(f"time in {unit}")
    legend_below(canvas, 4, *axes.get_legend_handles_labels())
    name = "timeline"
    return Picture(name, "Timeline of the ranks", svg(canvas, name, TIMELINE), TIMELINE)


def _shade(activity: str) -> str:
    from ...reports.canvas import colour

    return IDLE if activity == "waiting" else colour(COLOURED.index(activity))


def _bars(axes: Any, activity: str, parts: Lines) -> None:
    if not parts:
        return
    axes.barh(
        [part.rank for part in parts],
        [(part.end - part.begin) / NANO for part in parts],
        left=[part.begin / NANO for part in parts],
        height=0.7,
        color=_shade(activity),
        label=activity,
        linewidth=0,
    )


def _where(numbers: SimulationNumbers) -> Picture:
    from ...reports.canvas import figure, legend_below, svg

    bars = {"all ranks": dict(numbers.shares)}
    if numbers.path is not None:
        total = sum(numbers.path.activities.values()) or 1
        own = {name: ns / total for name, ns in numbers.path.activities.items()}
        bars["critical path"] = own
    canvas = figure(1.1 + 0.4 * len(bars))
    axes = canvas.subplots()
    left = dict.fromkeys(bars, 0.0)
    for activity in COLOURED:
        widths = [shares.get(activity, 0.0) for shares in bars.values()]
        if any(widths):
            axes.barh(
                list(bars),
                [100 * width for width in widths],
                left=[100 * start for start in left.values()],
                color=_shade(activity),
                label=activity,
                linewidth=0,
            )
        for name, width in zip(bars, widths, strict=True):
            left[name] += width
    axes.set_xlim(0, 100)
    axes.invert_yaxis()
    axes.set_xlabel("share of the time in %")
    legend_below(canvas, 4, *axes.get_legend_handles_labels())
    return Picture("where", "Where the time went", svg(canvas, "where", SHARES), SHARES)
