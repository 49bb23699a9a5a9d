"""Stochastic gradient descent."""

from typing import Any

from ..contracts.optimizer import Optimizer, State


class SGD(Optimizer):
    """A step against the gradient."""

    learning_rate: float

    def update(self, xp: Any, param: Any, grad: Any, state: State, step: Any) -> tuple[Any, State]:
        return param - self.learning_rate * grad, state
