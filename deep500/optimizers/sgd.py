"""Stochastic gradient descent."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class SGD(Optimizer):
    """Moves against the gradient."""

    learning_rate: Rate = 1e-3

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        return param - self.learning_rate * grad, state

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update all tensors in one call, as torch.optim.SGD does."""
        torch._foreach_add_(params, grads, alpha=-float(self.learning_rate))
