"""Gradients within bounds."""

from typing import Any

from ..contracts.modifier import Arrays, Modifier
from ..contracts.schedule import check_positive


class ClipByValue(Modifier):
    """Every element of a gradient is brought into the range from -limit to limit."""

    limit: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, limit=self.limit)

    def gradients(self, xp: Any, params: Arrays, grads: Arrays) -> Arrays:
        limit = self.limit
        return {
            name: xp.minimum(xp.maximum(g, -limit), limit) for name, g in grads.items()
        }
