"""A linear start (Goyal et al., 2017)."""

from typing import Any

from ..contracts.schedule import Schedule, check_positive, value_at


class WarmUp(Schedule):
    """Grows in a straight line for `steps` steps, and is `then` from there on.

    `then` is a number or a schedule; a schedule begins with its own first step where the warm-up ends. The first step
    has a `steps`-th of the way from `start`, so that it is not lost.
    """

    then: float | Schedule
    steps: int
    start: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, steps=self.steps)

    def value(self, xp: Any, step: Any) -> Any:
        ones = xp.ones_like(step)
        target = value_at(self.then, xp, ones) * ones
        growing = self.start + (target - self.start) * (step / self.steps)
        later = value_at(self.then, xp, xp.maximum(step - self.steps, 1.0)) * ones
        return xp.where(step > self.steps, later, growing)
