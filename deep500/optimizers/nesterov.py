"""Nesterov's accelerated gradient (Nesterov, 1983), in the form of Sutskever et al. (2013)."""

from collections.abc import Callable
from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class Nesterov(Optimizer):
    """Momentum that looks ahead: the step is along the velocity that the gradient will have brought about."""

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
        """PyTorch's kernel takes no velocity where nothing of it is left."""
        return super().native(framework) if self.momentum else None

    def pytorch(
        self, torch: Any, params: list, grads: list, states: list[State], step: Any
    ) -> None:
        """The kernel behind torch.optim.SGD(momentum=…, nesterov=True, fused=True)."""
        torch._fused_sgd_(
            params,
            grads,
            [state["velocity"] for state in states],
            weight_decay=0.0,
            momentum=self.momentum,
            lr=float(self.learning_rate),
            dampening=0.0,
            nesterov=True,
            maximize=False,
            is_first_step=False,
        )
