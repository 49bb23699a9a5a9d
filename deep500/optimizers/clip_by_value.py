"""Gradient clipping by value."""

from typing import Any

from ..contracts.modifier import Arrays, Modifier
from ..contracts.schedule import check_positive


class ClipByValue(Modifier):
    """Clips every element of a gradient to the range from -limit to limit."""

    limit: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, limit=self.limit)

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        clipped = {}
        for name, grad in grads.items():
            at_least = xp.maximum(grad, -self.limit)
            clipped[name] = xp.minimum(at_least, self.limit)
        return clipped
