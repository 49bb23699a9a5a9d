"""Lion (Chen et al., 2023)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Lion(Optimizer):
    """The sign of an interpolation between the momentum and the gradient: all steps have the same size."""

    learning_rate: Rate = 1e-4
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 1e-3

    def init(self, xp: Any, param: Any) -> State:
        return {"mean": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        direction = xp.sign(self.beta1 * state["mean"] + (1 - self.beta1) * grad)
        mean = self.beta2 * state["mean"] + (1 - self.beta2) * grad
        move = direction + self.weight_decay * param
        return param - self.learning_rate * move, {"mean": mean}
