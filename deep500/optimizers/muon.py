"""Muon: momentum made orthogonal by Newton-Schulz iterations (Jordan et al., 2024)."""

from typing import Any, ClassVar

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import norm
from .adam import Adam


class Muon(Optimizer):
    """Every matrix moves along the nearly orthogonal matrix that is next to its momentum.

    Kernels of convolutions count as matrices, one row for every output channel. Parameters with fewer than two
    dimensions are updated by Adam with the same learning rate; `| Group("*bias", …)` gives them another rule.
    """

    elementwise: ClassVar[bool] = False

    learning_rate: Rate = 1e-3
    weight_decay: float = 0.1
    momentum: float = 0.95
    nesterov: bool = True
    coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315)
    epsilon: float = 1e-7
    iterations: int = 5

    def init(self, xp: Any, param: Any) -> State:
        if len(param.shape) < 2:
            return Adam().init(xp, param)
        return {"velocity": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        if len(param.shape) < 2:
            adam = Adam().with_values({"learning_rate": self.learning_rate})
            return adam.update(xp, param, grad, state, step)
        velocity = self.momentum * state["velocity"] + (1 - self.momentum) * grad
        direction = velocity
        if self.nesterov:
            direction = self.momentum * velocity + (1 - self.momentum) * grad
        rows = param.shape[0]
        matrix = xp.reshape(direction, (rows, -1))
        scale = max(1.0, rows / matrix.shape[1]) ** 0.5
        move = xp.reshape(self._orthogonal(xp, matrix), param.shape)
        shrunk = param - self.learning_rate * self.weight_decay * param
        return shrunk - self.learning_rate * scale * move, {"velocity": velocity}

    def _orthogonal(self, xp: Any, matrix: Any) -> Any:
        """The matrix with all singular values brought near to 1."""
        a, b, c = self.coefficients
        is_tall = matrix.shape[0] > matrix.shape[1]
        x = xp.permute_dims(matrix, (1, 0)) if is_tall else matrix
        x = x / xp.maximum(norm(xp, x), self.epsilon)
        size = x.shape[0]
        identity = xp.one_hot(xp.arange(size, "int64"), size, x.dtype)
        for _ in range(self.iterations):
            gram = x @ xp.permute_dims(x, (1, 0))
            # no number is multiplied with a product: ONNX Runtime would take it for a float32
            x = a * x + (gram @ (b * identity + c * gram)) @ x
        return xp.permute_dims(x, (1, 0)) if is_tall else x
