"""AMSGrad (Reddi, Kale and Kumar, 2018)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import bias_correction


class AMSGrad(Optimizer):
    """Adam that divides by the largest mean square so far, so that the rate of an element never grows again."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def init(self, xp: Any, param: Any) -> State:
        zeros = xp.zeros_like
        return {
            "mean": zeros(param),
            "square": zeros(param),
            "largest": zeros(param),
        }

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        beta1, beta2 = self.beta1, self.beta2
        mean = beta1 * state["mean"] + (1 - beta1) * grad
        square = beta2 * state["square"] + (1 - beta2) * xp.square(grad)
        largest = xp.maximum(state["largest"], square)
        rate = self.learning_rate / bias_correction(xp, beta1, step)
        scale = 1 / xp.sqrt(bias_correction(xp, beta2, step))
        spread = scale * xp.sqrt(largest) + self.epsilon
        new = param - rate * mean / spread
        return new, {"mean": mean, "square": square, "largest": largest}

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update by the kernel of torch.optim.Adam(amsgrad=True, fused=True)."""
        means = [state["mean"] for state in states]
        squares = [state["square"] for state in states]
        largest = [state["largest"] for state in states]
        steps = [step] * len(params)
        torch._fused_adam_(
            params,
            grads,
            means,
            squares,
            largest,
            steps,
            lr=float(self.learning_rate),
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=True,
            maximize=False,
        )
