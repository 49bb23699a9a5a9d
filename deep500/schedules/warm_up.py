"""A linear warm-up (Goyal et al., 2017)."""

from typing import Any

from ..contracts.schedule import Schedule, check_positive, value_at


class WarmUp(Schedule):
    """Grows linearly from `start` for `steps` steps, and follows `then` after that.

    `then` is a number, or a schedule, which begins with its own first step when the warm-up ends. The first step is
    already one `steps`-th of the way from `start`.
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
        later_step = xp.maximum(step - self.steps, 1.0)
        later = value_at(self.then, xp, later_step) * ones
        return xp.where(step > self.steps, later, growing)
