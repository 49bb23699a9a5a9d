"""Gradient descent with momentum (Polyak, 1964)."""

from collections.abc import Callable
from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Momentum(Optimizer):
    """A step along the velocity, a decaying sum of all gradients."""

    learning_rate: Rate
    momentum: float = 0.9

    def init(self, xp: Any, param: Any) -> State:
        return {"velocity": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        velocity = self.momentum * state["velocity"] + grad
        return param - self.learning_rate * velocity, {"velocity": velocity}

    def native(self, framework: str) -> Callable | None:
        """PyTorch's kernel takes no velocity where nothing of it is left."""
        return super().native(framework) if self.momentum else None

    def pytorch(
        self, torch: Any, params: list, grads: list, states: list[State], step: Any
    ) -> None:
        """The kernel behind torch.optim.SGD(momentum=…, fused=True)."""
        torch._fused_sgd_(
            params,
            grads,
            [state["velocity"] for state in states],
            weight_decay=0.0,
            momentum=self.momentum,
            lr=float(self.learning_rate),
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
