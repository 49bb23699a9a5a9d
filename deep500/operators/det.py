import math

from ..contracts.operator import Operator, TensorSpec, case


class Det(Operator):
    """The determinant of every matrix in the last two axes."""

    since = 11

    def forward(self, xp, x):
        n = x.shape[-1]
        return xp.reshape(_det(xp, xp.reshape(x, (math.prod(x.shape[:-2]), n, n))), x.shape[:-2])

    def backward(self, xp, dy, x):
        """The cofactors, which singular matrices have too."""
        n, count = x.shape[-1], math.prod(x.shape[:-2])
        if n == 0:
            return xp.zeros_like(x)
        if n == 1:
            return xp.expand_dims(dy, (-1, -2))
        without = xp.asarray([[k for k in range(n) if k != i] for i in range(n)], "int64")
        # shape (count, n, n - 1, n, n - 1)
        minors = xp.take(xp.take(xp.reshape(x, (count, n, n)), without, 1), without, 3)
        minors = xp.reshape(xp.permute_dims(minors, (0, 1, 3, 2, 4)), (count * n * n, n - 1, n - 1))
        signs = xp.asarray([[float((-1) ** (i + j)) for j in range(n)] for i in range(n)], x.dtype)
        cofactors = xp.reshape(_det(xp, minors), (count, n, n)) * signs
        return xp.expand_dims(dy, (-1, -2)) * xp.reshape(cofactors, x.shape)

    def pytorch(self, torch, x):
        return torch.linalg.det(x)

    def jax(self, jax, x):
        return jax.numpy.linalg.det(x)

    def tensorflow(self, tf, x):
        return tf.linalg.det(x)

    def infer(self, x):
        return (TensorSpec(x.shape[:-2], x.dtype),)

    def flops(self, x):
        return max(1, 2 * x.size * x.shape[-1] // 3)

    cases = (case(x=(2, 3, 3)), case(x=[[0.0, 2.0], [3.0, 1.0]]), case(x=(2, 1, 1, 1)))


def _det(xp, x):
    """Of (count, n, n): elimination by the row whose first element is largest."""
    product = xp.full(x.shape[:1], 1, x.dtype)
    for n in range(x.shape[-1], 0, -1):
        at = xp.argmax(xp.abs(x[:, :, 0]), axis=1, keepdims=True)
        chosen = xp.expand_dims(xp.arange(n, "int64") == at, 2)
        row = xp.sum(xp.where(chosen, x, xp.zeros_like(x)), axis=1)
        # the first row takes the place of the pivot row
        rest = xp.where(chosen, x[:, :1], x)[:, 1:]
        pivot = row[:, 0]
        product = product * xp.where(at[:, 0] == 0, pivot, -pivot)
        share = rest[:, :, :1] / xp.reshape(
            xp.where(pivot == 0, xp.ones_like(pivot), pivot), (-1, 1, 1)
        )
        x = rest[:, :, 1:] - share * xp.expand_dims(row, 1)[:, :, 1:]
    return product
