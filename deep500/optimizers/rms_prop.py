"""RMSProp (Tieleman and Hinton, 2012); centered as in Graves (2013)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State


class RMSProp(Optimizer):
    """Divides the gradient by the root of a decaying mean of its square.

    With `centered`, it divides by the root of the variance; with `momentum`, the quotients add up to a velocity.
    """

    learning_rate: Rate = 1e-2
    alpha: float = 0.99
    epsilon: float = 1e-8
    momentum: float = 0.0
    centered: bool = False

    def init(self, xp: Any, param: Any) -> State:
        state = {"square": xp.zeros_like(param)}
        if self.centered:
            state["mean"] = xp.zeros_like(param)
        if self.momentum:
            state["velocity"] = xp.zeros_like(param)
        return state

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        alpha = self.alpha
        square = alpha * state["square"] + (1 - alpha) * xp.square(grad)
        new = {"square": square}
        variance = square
        if self.centered:
            mean = alpha * state["mean"] + (1 - alpha) * grad
            new["mean"] = mean
            # rounding may make the difference negative, which has no root
            variance = xp.maximum(square - xp.square(mean), 0)
        spread = xp.sqrt(variance) + self.epsilon
        move = grad / spread
        if self.momentum:
            move = self.momentum * state["velocity"] + move
            new["velocity"] = move
        return param - self.learning_rate * move, new
