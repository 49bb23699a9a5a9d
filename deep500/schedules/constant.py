"""The same value in every step."""

from typing import Any

from ..contracts.schedule import Schedule


class Constant(Schedule):
    """Returns `start` in every step."""

    start: float

    def value(self, xp: Any, step: Any) -> Any:
        return self.start * xp.ones_like(step)
