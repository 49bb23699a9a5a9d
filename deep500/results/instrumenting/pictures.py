"""The pictures of an instrumented script: the loss, and the time of every step."""

import math
from collections.abc import Sequence

from ...reports.blocks import Picture
from ...reports.text import clean
from .numbers import ScriptRecord, step_seconds, value_series

MOST_POINTS = 4000
MOST_VALUES = 6
ALT = "a curve over the steps of the run"
LARGEST = 1e30  # what can be drawn


def script_pictures(record: ScriptRecord) -> list[Picture]:
    """A curve of each value and one of the times of the steps."""
    from ...reports.canvas import settings

    with settings():
        pictures = []
        series = list(value_series(record.blocks).items())
        for number, (name, values) in enumerate(series[:MOST_VALUES]):
            pictures += _curve(f"value-{number}", clean(name), values)
        milliseconds = [1e3 * seconds for seconds in step_seconds(record.blocks)]
        pictures += _curve("step-times", "time of a step (ms)", milliseconds)
        return pictures


def _curve(name: str, label: str, values: Sequence[float | None]) -> list[Picture]:
    """One value over the steps; at most MOST_POINTS of them, evenly spaced."""
    from ...reports.canvas import figure, svg

    stride = math.ceil(len(values) / MOST_POINTS) or 1
    steps = []
    points = []
    for step in range(0, len(values), stride):
        value = values[step]
        if value is not None and abs(value) < LARGEST:
            steps.append(step + 1)
            points.append(value)
    if not points:
        return []
    canvas = figure(3.2)
    axes = canvas.subplots()
    axes.plot(steps, points, lw=0.9)
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.grid()
    every = "Every step"
    if stride > 1:
        every = f"Every {stride}th step"
    caption = f"{every} of the run, as it was recorded."
    return [Picture(name, label, svg(canvas, name, ALT), caption)]
