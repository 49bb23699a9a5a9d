"""The steps of a script that are not on disk yet."""

import math
from collections.abc import Sequence
from typing import Any

from ..errors import Deep500Error, one_line

Step = tuple[float, int | None, dict[str, Any], list[float]]
"""Seconds, examples, values by name (as the framework gave them), seconds of the regions."""


def stretch_block(
    first: int,
    steps: Sequence[Step],
    paths: Sequence[str],
    outside: float,
    recording: float,
) -> dict[str, Any]:
    """The steps as a block of a bundle; here, values become numbers, which waits for the device."""
    regions: dict[str, list[float]] = {path: [] for path in paths}
    for _, _, _, seconds in steps:
        padded = [*seconds, *[0.0] * (len(paths) - len(seconds))]
        for path, value in zip(paths, padded, strict=True):
            regions[path].append(value)
    entered = {path: seconds for path, seconds in regions.items() if any(seconds)}
    block = {
        "first": first,
        "seconds": [step[0] for step in steps],
        "examples": [step[1] for step in steps],
        "values": _columns(steps),
        "regions": entered,
        "outside": outside,
        "recording": recording,
    }
    return {"steps": block}


def _columns(steps: Sequence[Step]) -> dict[str, list[float | str | None]]:
    """The values by name, with None for a step that did not give one."""
    columns: dict[str, list[float | str | None]] = {}
    for number, (_, _, values, _) in enumerate(steps):
        for name, value in values.items():
            column = columns.setdefault(name, [])
            column += [None] * (number - len(column))
            column.append(written_number(as_number(name, value)))
    for column in columns.values():
        column += [None] * (len(steps) - len(column))
    return columns


def held(value: Any) -> Any:
    """What a run keeps of a value until it is written: a PyTorch tensor lets go of its graph."""
    detach = getattr(value, "detach", None)
    return value if detach is None else detach()


def as_number(name: str, value: Any) -> float:
    """A value of any framework as a number; a Deep500Error if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise Deep500Error(
            f"{name} is not one number ({one_line(error)[:80]}): give the mean over the batch"
        ) from None


def written_number(number: float) -> float | str:
    """A number as JSON can hold it."""
    return number if math.isfinite(number) else str(number)
