"""Nesterov's accelerated gradient (Nesterov, 1983), in the form of Sutskever et al. (2013)."""

from collections.abc import Callable
from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Nesterov(Optimizer):
    """Momentum that looks ahead: it moves along the velocity that the next step would have with the same gradient."""

    learning_rate: Rate
    momentum: float = 0.9

    def init(self, xp: Any, param: Any) -> State:
        return {"velocity": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        velocity = self.momentum * state["velocity"] + grad
        ahead = grad + self.momentum * velocity
        return param - self.learning_rate * ahead, {"velocity": velocity}

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
        """Update by the kernel of torch.optim.SGD(momentum=…, nesterov=True, fused=True)."""
        velocities = [state["velocity"] for state in states]
        torch._fused_sgd_(
            params,
            grads,
            velocities,
            weight_decay=0.0,
            momentum=self.momentum,
            lr=float(self.learning_rate),
            dampening=0.0,
            nesterov=True,
            maximize=False,
            is_first_step=False,
        )
