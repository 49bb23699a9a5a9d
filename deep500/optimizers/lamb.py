"""LAMB: layer-wise adaptive moments for large batches (You et al., 2020)."""

from typing import Any, ClassVar

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import bias_correction, norm, trust_ratio


class LAMB(Optimizer):
    """Adam with decoupled weight decay, whose update of a tensor is scaled to the norm of the parameter."""

    elementwise: ClassVar[bool] = False

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = 0.0

    def init(self, xp: Any, param: Any) -> State:
        return {"mean": xp.zeros_like(param), "square": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        beta1, beta2 = self.beta1, self.beta2
        mean = beta1 * state["mean"] + (1 - beta1) * grad
        square = beta2 * state["square"] + (1 - beta2) * xp.square(grad)
        scale = 1 / xp.sqrt(bias_correction(xp, beta2, step))
        spread = scale * xp.sqrt(square) + self.epsilon
        unbiased_mean = mean / bias_correction(xp, beta1, step)
        direction = unbiased_mean / spread
        direction = direction + self.weight_decay * param
        trust = trust_ratio(xp, norm(xp, param), norm(xp, direction))
        new = param - self.learning_rate * trust * direction
        return new, {"mean": mean, "square": square}
