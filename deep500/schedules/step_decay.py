"""A decay in steps."""

from typing import Any

from ..contracts.schedule import Schedule, check_positive


class StepDecay(Schedule):
    """Multiplies by `factor` after every `every` steps, as torch.optim.lr_scheduler.StepLR does."""

    start: float
    every: int
    factor: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self, every=self.every, factor=self.factor)

    def value(self, xp: Any, step: Any) -> Any:
        # a quarter of a step keeps rounded quotients away from the boundaries
        drops = xp.floor((step - 0.75) / self.every)
        factor = self.factor * xp.ones_like(drops)
        return self.start * xp.pow(factor, drops)
