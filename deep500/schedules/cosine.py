"""Cosine annealing (Loshchilov and Hutter, 2017)."""

import math
from typing import Any

from ..contracts.schedule import Schedule, check_positive


class Cosine(Schedule):
    """Follows half a cosine from `start` in the first step to `end` after `steps` steps, and stays there."""

    start: float
    steps: int
    end: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, steps=self.steps)

    def value(self, xp: Any, step: Any) -> Any:
        share = xp.minimum((step - 1) / self.steps, 1.0)
        wave = 1 + xp.cos(math.pi * share)
        return self.end + (self.start - self.end) * wave / 2
