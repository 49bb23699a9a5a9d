"""AcceleGrad (Levy, Yurtsever and Cevher, 2018)."""

from typing import Any, ClassVar

from ..contracts.optimizer import Optimizer, Rate, State


class AcceleGrad(Optimizer):
    """Accelerated gradient descent whose rate depends on past gradients, so that no smoothness constant is needed.

    Two sequences are coupled: z takes large steps, y small ones, and the parameter lies between them, where gradients
    are taken. Norms are those of one tensor. The rate is learning_rate * 2 * diameter / sqrt(gradient_bound ** 2 + the
    weighted sum of squared norms).
    """

    elementwise: ClassVar[bool] = False

    learning_rate: Rate = 1.0
    diameter: float = 1.0
    gradient_bound: float = 1.0

    def init(self, xp: Any, param: Any) -> State:
        zeros = xp.zeros_like(param)
        return {"z": zeros + param, "squares": xp.sum(zeros)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        weight = xp.maximum(step / 4, 1)
        squared_weight = xp.square(weight)
        squared_norm = xp.sum(xp.square(grad))
        squares = state["squares"] + squared_weight * squared_norm
        root = xp.sqrt(self.gradient_bound**2 + squares)
        rate = self.learning_rate * 2 * self.diameter / root
        z = state["z"] - weight * rate * grad
        y = param - rate * grad
        next_weight = xp.maximum((step + 1) / 4, 1)
        coupling = 1 / next_weight
        new = coupling * z + (1 - coupling) * y
        return new, {"z": z, "squares": squares}
