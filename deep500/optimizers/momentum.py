"""Gradient descent with momentum (Polyak, 1964)."""

from typing import Any

from ..contracts.optimizer import Optimizer, State


class Momentum(Optimizer):
    """A step along the velocity, a decaying sum of all gradients."""

    learning_rate: float
    momentum: float = 0.9

    def init(self, xp: Any, param: Any) -> State:
        return {"velocity": xp.zeros_like(param)}

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        velocity = self.momentum * state["velocity"] + grad
        return param - self.learning_rate * velocity, {"velocity": velocity}
