"""The picture of memory against time: measured and predicted steps over the workspace that they use."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...reports.blocks import Picture
from ...reports.text import clean
from .numbers import ANY_LIMIT, StepNumbers, alike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Steps = Sequence[StepNumbers]
WIDE = 4.0  # from this ratio of times on, their axis is logarithmic
CAPTION = (
    "Median time of a step over the limit of workspace: dots with intervals are measured, dashed lines predicted, "
    "rings mark the Pareto front of used memory and time; the grey line is PyTorch's own."
)


def pictures(steps: Steps) -> list[Picture]:
    """One for every network and batch."""
    from ...reports.canvas import settings

    firsts = {(step.network, step.batch): step for step in steps}
    found = []
    with settings():
        for place, first in enumerate(firsts.values()):
            own = alike(first, steps)
            if len({step.limit for step in own}) > 1:
                found.append(_picture(place, first, own, steps))
    return found


def _picture(place: int, first: StepNumbers, own: Steps, steps: Steps) -> Picture:
    from ...reports.canvas import INK, figure, legend_below, svg, time_axis

    canvas = figure(3.8)
    axes = canvas.subplots()
    times = [v for step in own for v in (step.seconds, step.step, step.high) if v]
    for step in steps:
        same = (step.network, step.batch) == (first.network, first.batch)
        if same and step.limit == ANY_LIMIT:
            axes.axhline(
                step.seconds, color=INK, linewidth=1.5, label=clean(step.policy)
            )
            times.append(step.seconds)
    limits = list(dict.fromkeys(step.limit for step in own))
    for index, policy in enumerate(dict.fromkeys(step.policy for step in own)):
        line = [step for step in own if step.policy == policy]
        _line(axes, index, line, limits)
    is_wide = max(times) > WIDE * min(times)
    unit = time_axis(axes, "y", min(times) / 1.1, max(times) * 1.1, log=is_wide)
    axes.set_ylabel(f"time of a step ({unit})")
    axes.set_xlim(-0.5, len(limits) - 0.5)
    axes.set_xticks(range(len(limits)), [clean(limit) for limit in limits])
    axes.set_xlabel("limit of workspace")
    axes.grid(True)
    legend_below(canvas, 3, *axes.get_legend_handles_labels())
    name = f"memory-{place}"
    title = f"{clean(first.network)}, batch {first.batch:g}: memory against time"
    return Picture(name, title, svg(canvas, name, CAPTION), CAPTION)


def _line(axes: "Axes", place: int, steps: Steps, limits: Sequence[str]) -> None:
    from ...reports.canvas import INK, colour

    ink = colour(place)
    at = [limits.index(step.limit) + 0.04 * place for step in steps]
    axes.plot(
        at,
        [step.seconds for step in steps],
        "o",
        color=ink,
        markersize=4,
        label=clean(steps[0].policy),
    )
    for x, step in zip(at, steps, strict=True):
        if step.low is not None and step.high is not None:
            axes.plot([x, x], [step.low, step.high], color=ink, linewidth=1)
        if step.on_front:
            axes.plot(x, step.seconds, "o", markersize=9, fillstyle="none", color=INK)
    predicted = [(x, step.step) for x, step in zip(at, steps, strict=True) if step.step]
    if predicted:
        places, times = zip(*predicted, strict=True)
        axes.plot(places, times, "--", color=ink, linewidth=0.9)
