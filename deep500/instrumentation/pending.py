"""The steps of a script that are not yet on disk."""

import math
from collections.abc import Sequence
from typing import Any

from ..errors import Deep500Error, one_line
from ..results.instrumenting.blocks import NotFinite, RecordedValue, Stretch

Step = tuple[float, int | None, dict[str, Any], list[float]]
"""Seconds, examples, values by name (native to the framework), seconds of the regions."""


def stretch(
    first: int,
    steps: Sequence[Step],
    paths: Sequence[str],
    outside: float,
    recording: float,
) -> Stretch:
    """The steps as a bundle records them. Values are converted to numbers, which waits for the device."""
    return Stretch(
        first,
        seconds=[step[0] for step in steps],
        examples=[step[1] for step in steps],
        values=_columns(steps),
        regions=_entered_regions(steps, paths),
        outside=outside,
        recording=recording,
    )


def _entered_regions(
    steps: Sequence[Step], paths: Sequence[str]
) -> dict[str, list[float]]:
    """The seconds of each step in every region that was entered; 0 for a step that did not enter it."""
    regions: dict[str, list[float]] = {}
    for index, path in enumerate(paths):
        seconds = []
        for _, _, _, step_regions in steps:
            # a region of a later step was not
            was_known = index < len(step_regions)
            seconds.append(step_regions[index] if was_known else 0.0)
        if any(seconds):
            regions[path] = seconds
    return regions


def _columns(steps: Sequence[Step]) -> dict[str, list[RecordedValue]]:
    """The values by name, with None for a step that has no such value."""
    columns: dict[str, list[RecordedValue]] = {}
    for number, (_, _, values, _) in enumerate(steps):
        for name, value in values.items():
            column = columns.setdefault(name, [])
            column += [None] * (number - len(column))
            number_value = as_number(name, value)
            column.append(written_number(number_value))
    for column in columns.values():
        column += [None] * (len(steps) - len(column))
    return columns


def held(value: Any) -> Any:
    """The value as a run keeps it until it is written: a PyTorch tensor is detached from its graph."""
    detach = getattr(value, "detach", None)
    return value if detach is None else detach()


def as_number(name: str, value: Any) -> float:
    """A scalar of any framework as a float; raises a Deep500Error if it is not a single number."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        cause = one_line(error)[:80]
        raise Deep500Error(
            f"{name} is not one number ({cause}): give the mean over the batch"
        ) from None


def written_number(number: float) -> float | NotFinite:
    """A number as a JSON value: a string if it is not finite."""
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return number
