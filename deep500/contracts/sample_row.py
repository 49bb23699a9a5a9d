"""A sample row: one raw value of a result with everything that tells it apart from the others, for other tools."""

from collections.abc import Mapping
from dataclasses import dataclass

LevelId = int | float | str | bool


@dataclass(frozen=True)
class SampleRow:
    """One value; `levels` say at which factors, in which process, round, seed, epoch or step it was measured."""

    name: str  # what was measured
    quantity: str  # time, loss, validation accuracy …
    unit: str
    value: float
    levels: Mapping[str, LevelId]
