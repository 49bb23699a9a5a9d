"""A piecewise constant schedule."""

from typing import Any

from ..contracts.schedule import Schedule
from ..errors import Deep500Error


class Piecewise(Schedule):
    """values[0] up to and including step boundaries[0], values[1] up to boundaries[1] …, and the last one from there.

    `Piecewise((100, 150), (0.1, 0.01, 0.001))` is 0.1 for 100 steps, 0.01 for 50, and 0.001 for all others.
    """

    boundaries: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        is_rising = list(self.boundaries) == sorted({*self.boundaries})
        has_all_values = len(self.values) == len(self.boundaries) + 1
        if not has_all_values or not is_rising:
            raise Deep500Error(
                f"Piecewise has the boundaries {self.boundaries} and the values {self.values}: boundaries "
                "rise, and there is one value more than there are boundaries"
            )

    def value(self, xp: Any, step: Any) -> Any:
        ones = xp.ones_like(step)
        current = self.values[0] * ones
        changes = zip(self.boundaries, self.values[1:], strict=True)
        for boundary, value in changes:
            current = xp.where(step > boundary, value * ones, current)
        return current
