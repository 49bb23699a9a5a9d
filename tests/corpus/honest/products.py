"""Right: products of matrices, convolution, solving."""

import numpy as np

import deep500 as d5


class MatMul(d5.CustomPythonOp):
    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return inputs[0] @ inputs[1]

    def backward(self, grads, fwd_inputs, fwd_outputs):
        a, b = fwd_inputs
        return grads[0] @ np.swapaxes(b, -1, -2), np.swapaxes(a, -1, -2) @ grads[0]


class Einsum(d5.CustomPythonOp):
    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return np.einsum("ij,jk->ik", *inputs)

    def backward(self, grads, fwd_inputs, fwd_outputs):
        a, b = fwd_inputs
        return np.einsum("ik,jk->ij", grads[0], b), np.einsum("ij,ik->jk", a, grads[0])


class Linear(d5.CustomPythonOp):
    """Sizes by name: the weight has as many columns as the input."""

    domain = (-1e3, 1e3)

    def __init__(self):
        inputs = [
            d5.tensordesc(["n", "k"]),
            d5.tensordesc(["m", "k"]),
            d5.tensordesc(["m"]),
        ]
        super().__init__(inputs, [d5.tensordesc(["n", "m"])])

    def forward(self, inputs):
        x, weight, bias = inputs
        return x @ weight.T + bias

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, weight, _ = fwd_inputs
        return grads[0] @ weight, grads[0].T @ x, grads[0].sum(0)


class Affine(d5.CustomPythonOp):
    """Broadcast inputs get the sums over rows."""

    num_inputs = 3
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        x, scale, shift = inputs
        return x * scale + shift

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, scale, _ = fwd_inputs
        return grads[0] * scale, (grads[0] * x).sum(0), grads[0].sum(0)


class Conv1d(d5.CustomPythonOp):
    """By hand, without padding."""

    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        x, kernel = inputs
        width = x.shape[1] - len(kernel) + 1
        if width < 1:
            raise ValueError("the kernel is longer than the row")
        y = np.zeros((len(x), width), x.dtype)
        for i, weight in enumerate(kernel):
            y += weight * x[:, i : i + width]
        return y

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, kernel = fwd_inputs
        width = grads[0].shape[1]
        dx, dkernel = np.zeros_like(x), np.zeros_like(kernel)
        for i, weight in enumerate(kernel):
            dx[:, i : i + width] += weight * grads[0]
            dkernel[i] = (grads[0] * x[:, i : i + width]).sum()
        return dx, dkernel


class BatchedSolve(d5.CustomPythonOp):
    """Regular by its making: A·Aᵀ/n + 1."""

    num_inputs = 2
    domain = (-1.0, 1.0)

    def forward(self, inputs):
        a, b = inputs
        n = a.shape[-1]
        regular = a @ np.swapaxes(a, -1, -2) / n + np.eye(n, dtype=a.dtype)
        return np.linalg.solve(regular, b[..., None])[..., 0]


class InnerMatrix(d5.CustomPythonOp):
    """Symmetric: both sides give a gradient."""

    domain = (-1e3, 1e3)

    def forward(self, inputs):
        return inputs[0] @ inputs[0].T

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return (grads[0] + grads[0].T) @ fwd_inputs[0]


class Distances(d5.CustomPythonOp):
    """By differences, not by the binomial formula."""

    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        a, b = inputs
        return np.linalg.norm(a[:, None, :] - b[None, :, :], axis=-1)


class WeightedSquare(d5.CustomPythonOp):
    num_inputs = 2
    domain = (-1e3, 1e3)

    def forward(self, inputs):
        x, weight = inputs
        return weight * x**2

    def backward(self, grads, fwd_inputs, fwd_outputs):
        x, weight = fwd_inputs
        return grads[0] * 2 * weight * x, grads[0] * x**2
