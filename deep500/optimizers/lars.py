"""LARS: layer-wise adaptive rate scaling (You, Gitman and Ginsburg, 2017)."""

from typing import Any, ClassVar

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import norm, trust_ratio


class LARS(Optimizer):
    """Momentum with a rate per tensor that is proportional to the norm of the parameter over that of the gradient."""

    elementwise: ClassVar[bool] = False

    learning_rate: Rate
    momentum: float = 0.9
    weight_decay: float = 0.0
    trust_coefficient: float = 1e-3
    epsilon: float = 0.0

    def init(self, xp: Any, param: Any) -> State:
        return {"velocity": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        size = norm(xp, param)
        spread = norm(xp, grad) + self.weight_decay * size
        # a parameter or gradient of zeros gets the unscaled rate
        has_gradient = norm(xp, grad) > 0
        size = xp.where(has_gradient, size, xp.zeros_like(size))
        trust = trust_ratio(xp, self.trust_coefficient * size, spread + self.epsilon)
        move = self.learning_rate * trust * (grad + self.weight_decay * param)
        velocity = self.momentum * state["velocity"] + move
        return param - velocity, {"velocity": velocity}
