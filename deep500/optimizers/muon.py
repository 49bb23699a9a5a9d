"""Muon: momentum that is orthogonalised by Newton-Schulz iterations (Jordan et al., 2024)."""

from typing import Any, ClassVar

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import norm
from .adam import Adam


class Muon(Optimizer):
    """Moves every matrix along the nearly orthogonal matrix that is closest to its momentum.

    Kernels of convolutions count as matrices with one row per output channel. Parameters with fewer than two
    dimensions are updated by Adam with the same learning rate; `| Group("*bias", …)` gives them another optimizer.
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
        orthogonal = self._orthogonal(xp, matrix)
        move = xp.reshape(orthogonal, param.shape)
        shrunk = param - self.learning_rate * self.weight_decay * param
        new = shrunk - self.learning_rate * scale * move
        return new, {"velocity": velocity}

    def _orthogonal(self, xp: Any, matrix: Any) -> Any:
        """The matrix with all singular values moved close to 1."""
        rows, columns = matrix.shape
        if rows > columns:
            transposed = xp.permute_dims(matrix, (1, 0))
            return xp.permute_dims(self._orthogonal(xp, transposed), (1, 0))
        a, b, c = self.coefficients
        x = matrix / xp.maximum(norm(xp, matrix), self.epsilon)
        identity = xp.one_hot(xp.arange(rows, "int64"), rows, x.dtype)
        for _ in range(self.iterations):
            gram = x @ xp.permute_dims(x, (1, 0))
            # no number is multiplied with a product: ONNX Runtime would take it for a float32
            polynomial = b * identity + c * gram
            x = a * x + (gram @ polynomial) @ x
        return x
