"""Lion (Chen et al., 2023)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Lion(Optimizer):
    """Moves along the sign of an interpolation between momentum and gradient, so that all steps have the same size."""

    learning_rate: Rate = 1e-4
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 1e-3

    def init(self, xp: Any, param: Any) -> State:
        return {"mean": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        interpolated = self.beta1 * state["mean"] + (1 - self.beta1) * grad
        direction = xp.sign(interpolated)
        mean = self.beta2 * state["mean"] + (1 - self.beta2) * grad
        move = direction + self.weight_decay * param
        return param - self.learning_rate * move, {"mean": mean}
