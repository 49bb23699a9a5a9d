"""Exponential decay."""

import math
from typing import Any

from ..contracts.schedule import Schedule, check_positive


class Exponential(Schedule):
    """Multiplies by `factor` in every step, as torch.optim.lr_scheduler.ExponentialLR does."""

    start: float
    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, factor=self.factor)

    def value(self, xp: Any, step: Any) -> Any:
        exponent = (step - 1) * math.log(self.factor)
        return self.start * xp.exp(exponent)
