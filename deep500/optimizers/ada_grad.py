"""AdaGrad (Duchi, Hazan and Singer, 2011)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class AdaGrad(Optimizer):
    """Gives every element its own rate, which shrinks with the sum of its squared gradients."""

    learning_rate: Rate = 1e-2
    rate_decay: float = 0.0
    initial_sum: float = 0.0
    epsilon: float = 1e-10

    def init(self, xp: Any, param: Any) -> State:
        return {"sum": xp.zeros_like(param) + self.initial_sum}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        total = state["sum"] + xp.square(grad)
        rate = self.learning_rate / (1 + (step - 1) * self.rate_decay)
        spread = xp.sqrt(total) + self.epsilon
        return param - rate * (grad / spread), {"sum": total}

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update by the kernel of torch.optim.Adagrad(fused=True)."""
        sums = [state["sum"] for state in states]
        steps = [step] * len(params)
        torch._fused_adagrad_(
            params,
            grads,
            sums,
            steps,
            lr=float(self.learning_rate),
            lr_decay=self.rate_decay,
            weight_decay=0.0,
            eps=self.epsilon,
            maximize=False,
        )
