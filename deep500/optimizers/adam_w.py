"""Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import bias_correction


class AdamW(Optimizer):
    """Adam with a weight decay that is applied to the parameters directly and does not enter the means."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 1e-2

    def init(self, xp: Any, param: Any) -> State:
        return {"mean": xp.zeros_like(param), "square": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        beta1, beta2 = self.beta1, self.beta2
        mean = beta1 * state["mean"] + (1 - beta1) * grad
        square = beta2 * state["square"] + (1 - beta2) * xp.square(grad)
        rate = self.learning_rate / bias_correction(xp, beta1, step)
        scale = 1 / xp.sqrt(bias_correction(xp, beta2, step))
        spread = scale * xp.sqrt(square) + self.epsilon
        shrunk = param - self.learning_rate * self.weight_decay * param
        new = shrunk - rate * mean / spread
        return new, {"mean": mean, "square": square}

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update by the kernel of torch.optim.AdamW(fused=True)."""
        means = [state["mean"] for state in states]
        squares = [state["square"] for state in states]
        steps = [step] * len(params)
        torch._fused_adamw_(
            params,
            grads,
            means,
            squares,
            [],
            steps,
            lr=float(self.learning_rate),
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=self.weight_decay,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )
