"""The schedule contract: a number that depends on the count of steps, such as the learning rate."""

from typing import Any

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Schedule(Definition):
    """A setting that changes as training goes on; a learning rate or a batch size may be one.

    value(xp, step)   The value in this step. `step` counts from 1 and is an array, and so is the result: a compiled
        training step computes it and need not be compiled again. The first step has the value of step 1.
    """

    def value(self, xp: Any, step: Any) -> Any:
        raise lacking(self, "value")

    def number(self, step: int) -> float:
        """The value in a step, computed by NumPy."""
        import numpy as np

        return float(self.value(np, np.float64(step)))


def value_at(setting: "float | Schedule", xp: Any, step: Any) -> Any:
    """The value of a number or of a schedule in a step."""
    if isinstance(setting, Schedule):
        return setting.value(xp, step)
    return setting


def check_positive(owner: Definition, **settings: float) -> None:
    """Raise a Deep500Error for the first of these settings that is not greater than zero."""
    for name, value in settings.items():
        if not value > 0:
            kind = type(owner).__name__
            raise Deep500Error(
                f"{name} of {kind} is {value:g}: it must be greater than 0"
            )
