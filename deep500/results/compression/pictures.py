"""The pictures of compression: time of a step, and time to the target, by the rate of the network."""

from collections.abc import Callable, Sequence
from typing import Any

from ...reports.blocks import Picture
from .data import BASELINES, UNLIMITED
from .numbers import CompressionNumbers, MethodNumbers
from .words import method_name, rate_name

MOST = 8  # lines, besides the baselines
STEP = (
    "Median seconds of a step by the rate of each rank's network, with intervals: dots are measured, dashed lines are "
    "predicted from the times without a limit and the messages' bytes."
)
TARGET = (
    "Seconds to the target accuracy: the steps that it takes, times the seconds of one. Codecs that do not reach it "
    "are not in the picture."
)
Value = Callable[[MethodNumbers], float | None]


def pictures(numbers: CompressionNumbers) -> list[Picture]:
    from ...reports.canvas import settings

    with settings():
        step = _picture("step", "Time of a step", STEP, numbers, _step)
        target = _picture("target", "Time to the target", TARGET, numbers, _to_target)
    return [picture for picture in (step, target) if picture is not None]


def _step(one: MethodNumbers) -> float | None:
    return one.seconds.value if one.seconds else one.predicted


def _to_target(one: MethodNumbers) -> float | None:
    return one.to_target


def _picture(
    name: str, title: str, caption: str, numbers: CompressionNumbers, value: Value
) -> Picture | None:
    """A line for each of the codecs that are quickest on the slowest network, and for both baselines."""
    from ...reports.canvas import figure, legend_below, svg, time_axis

    limited = [
        one
        for one in numbers.methods
        if one.bandwidth != UNLIMITED and value(one) is not None
    ]
    rates = sorted({one.bandwidth for one in limited})
    if len(rates) < 2:
        return None
    canvas = figure(4.6)
    axes = canvas.subplots()
    shown = _shown(limited, rates[0], value)
    drawn = [one for one in limited if one.method in shown]
    values = [found for one in drawn if (found := value(one))]
    time_axis(axes, "y", min(values) / 1.4, max(values) * 1.4, log=True)
    for place, method in enumerate(shown):
        own = [one for one in drawn if one.method == method]
        own.sort(key=lambda one: one.bandwidth)
        _line(axes, place, own, value, is_step=name == "step")
    axes.set_xscale("log")
    axes.set_xticks(rates, [rate_name(rate) for rate in rates])
    axes.minorticks_off()
    axes.set_xlabel("rate of each rank's network")
    axes.grid(True)
    legend_below(canvas, 2, *axes.get_legend_handles_labels())
    return Picture(name, title, svg(canvas, name, caption), caption)


def _shown(limited: Sequence[MethodNumbers], slowest: float, value: Value) -> list[str]:
    there = [one for one in limited if one.bandwidth == slowest]
    there.sort(key=lambda one: value(one) or 0.0)
    names = [one.method for one in there]
    baselines = [name for name in BASELINES if name in names]
    others = [name for name in names if name not in BASELINES]
    return [*baselines, *others[:MOST]]


def _line(
    axes: Any, place: int, own: Sequence[MethodNumbers], value: Value, is_step: bool
) -> None:
    from ...reports.canvas import colour, dashes

    rates = [one.bandwidth for one in own]
    values = [value(one) for one in own]
    ink = colour(place)
    label = method_name(own[0].method)
    style = "" if is_step else dashes(place)
    mark = "os^Dvph*X<"[place % 10]
    if not is_step:
        axes.plot(rates, values, color=ink, linestyle=style, linewidth=1)
    axes.plot(rates, values, mark, color=ink, markersize=4, label=label)
    if not is_step:
        return
    for one in own:
        if one.seconds and one.seconds.low is not None:
            ends = [one.seconds.low, one.seconds.high]
            axes.plot([one.bandwidth] * 2, ends, color=ink, linewidth=1)
    predicted = [(one.bandwidth, one.predicted) for one in own if one.predicted]
    if predicted:
        at, times = zip(*predicted, strict=True)
        axes.plot(at, times, "--", color=ink, linewidth=0.8)
