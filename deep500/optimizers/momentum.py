"""Gradient descent with momentum (Polyak, 1964)."""

from collections.abc import Callable
from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Momentum(Optimizer):
    """Moves along the velocity, a decaying sum of all gradients."""

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
        """Return the framework's kernel; without momentum there is none, since PyTorch's takes no velocity then."""
        if not self.momentum:
            return None
        return super().native(framework)

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update by the kernel of torch.optim.SGD(momentum=…, fused=True)."""
        velocities = [state["velocity"] for state in states]
        torch._fused_sgd_(
            params,
            grads,
            velocities,
            weight_decay=0.0,
            momentum=self.momentum,
            lr=float(self.learning_rate),
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
        )
