"""Every metric, seed by seed, with its median, interval and target."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...reports.blocks import Picture
from ...reports.canvas import (
    INK,
    MOST_ENTRIES,
    colour,
    figure,
    number_axis,
    svg,
    time_axis,
)
from ..benching.series import LARGEST
from .contents import metric_name, never
from .curves import WIDE
from .data import OutcomeData

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAPTION = (
    "A dot is the value of one seed, in the colours of the curves, the first seed on top. Grey bar with a tick: the "
    "median and its interval, as in the table (only a tick where there is no interval). Dashed: the target. Each "
    "metric has its own axis."
)


def dots(data: OutcomeData) -> Picture | None:
    """One panel per metric."""
    drawn = [m for m in data.metrics if _drawable(m)][:MOST_ENTRIES]
    if not drawn:
        return None
    places = {run.seed: i for i, run in enumerate(data.runs)}
    colours = [colour(places[seed]) for seed in data.done]
    canvas = figure(0.2 + 1.3 * len(drawn))
    for axes, m in zip(
        canvas.subplots(len(drawn), squeeze=False).ravel(), drawn, strict=True
    ):
        _panel(axes, m, colours)
    return Picture(
        "seeds",
        "Every metric, seed by seed",
        svg(canvas, "seeds", "Metrics per seed"),
        f"{CAPTION} n = {len(data.done)} seeds.",
    )


def _drawable(m: Mapping[str, Any]) -> list[float]:
    return [
        value for value in m["values"] if value is not None and abs(value) < LARGEST
    ]


def _panel(axes: "Axes", m: Mapping[str, Any], colours: list[str]) -> None:
    values = _drawable(m)
    marks = [
        x
        for x in (m["target"], m["low"], m["high"])
        if x is not None and abs(x) < LARGEST
    ]
    low, high = min(values + marks), max(values + marks)
    log = low > 0 and high > WIDE * low
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    if m["unit"] == "s" and low > 0:
        unit = time_axis(
            axes,
            "x",
            low / 1.2 if log else low - room,
            high * 1.2 if log else high + room,
            log,
        )
    else:
        scale = number_axis(axes, "x", low, high, log)
        unit = ", ".join(filter(None, (m["unit"], scale)))
    title = metric_name(m) + f" ({unit})" * bool(unit)
    left = f"; {never(m)} of {m['n']} seeds never reached it" if never(m) else ""
    axes.set_title(f"{title}, n = {m['n']}{left}", loc="left")
    axes.set_ylim(1.35, -0.2)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    if m["target"] is not None:
        axes.axvline(m["target"], color=INK, lw=1.3, ls=(0, (5, 3)))
    heights = np.linspace(0, 0.8, len(m["values"])) if len(m["values"]) > 1 else [0.4]
    for value, height, ink in zip(m["values"], heights, colours, strict=True):
        if value is not None:
            axes.plot(
                value, height, marker="o", ms=5.5, color=ink, alpha=0.85, ls="none"
            )
    if m["low"] is not None:
        end = (
            axes.get_xlim()[1] if m["high"] is None else m["high"]
        )  # an open end runs off the panel
        axes.plot([m["low"], end], [1.1, 1.1], color=INK, lw=4, solid_capstyle="butt")
    if m["median"] is not None:
        axes.plot(
            [m["median"]] * 2, [0.93, 1.27], color=INK, lw=1.8, solid_capstyle="butt"
        )
