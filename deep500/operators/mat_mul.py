import math

from ..contracts.operator import (
    Operator,
    TensorSpec,
    broadcast_shapes,
    case,
)


class MatMul(Operator):
    """The matrix product over the last two axes; a vector is a row on the left and a column on the right."""

    def forward(self, xp, a, b):
        y = _row(xp, a) @ _column(xp, b)
        return xp.squeeze(y, _dropped(a, b)) if _dropped(a, b) else y

    def backward(self, xp, dy, a, b):
        row, column = _row(xp, a), _column(xp, b)
        d = xp.expand_dims(dy, _dropped(a, b)) if _dropped(a, b) else dy
        da, db = d @ _swapped(xp, column), _right_gradient(xp, row, column, d)
        return xp.reshape(xp.unbroadcast(da, row.shape), a.shape), xp.reshape(
            xp.unbroadcast(db, column.shape), b.shape
        )

    def pytorch(self, torch, a, b):
        return torch.matmul(a, b)

    def jax(self, jax, a, b):
        return jax.numpy.matmul(a, b)

    def infer(self, a, b):
        batch = broadcast_shapes([a.shape[:-2], b.shape[:-2]])
        rows, inner = a.shape[-2:-1], a.shape[-1]
        columns = b.shape[-1:] if len(b.shape) > 1 else ()
        if inner != b.shape[-1 if len(b.shape) == 1 else -2]:
            raise ValueError(f"the shapes {a.shape} and {b.shape} share no inner dimension")
        return (TensorSpec((*batch, *rows, *columns), a.dtype),)

    def flops(self, a, b):
        return 2 * self.infer(a, b)[0].size * a.shape[-1]

    def backward_flops(self, a, b):
        return 2 * self.flops(a, b)  # one product for each factor's gradient

    cases = (
        case(a=(3, 4), b=(4, 2)),
        case(a=(2, 1, 3, 4), b=(5, 4, 2)),
        case(a=(2, 3, 4), b=(4, 5)),
        case(a=(4,), b=(4, 2)),
        case(a=(4,), b=(2, 4, 3)),
        case(a=(2, 3, 4), b=(4,)),
        case(a=(4,), b=(4,)),
        case(a=(1, 1), b=(1, 1)),
    )


def _row(xp, a):
    return xp.expand_dims(a, 0) if a.ndim == 1 else a


def _column(xp, b):
    return xp.expand_dims(b, 1) if b.ndim == 1 else b


def _dropped(a, b):
    """The axes of the product that stand for a vector."""
    return (-2,) * (a.ndim == 1) + (-1,) * (b.ndim == 1)


def _right_gradient(xp, row, column, d):
    """The gradient by the right factor; one product of all rows where it is the same matrix for all of them."""
    if column.ndim > 2 or row.ndim == 2:
        return _swapped(xp, row) @ d
    count = math.prod(row.shape[:-1])
    rows, gradients = (xp.reshape(m, (count, m.shape[-1])) for m in (row, d))
    return _swapped(xp, rows) @ gradients


def _swapped(xp, m):
    return xp.permute_dims(m, (*range(m.ndim - 2), m.ndim - 1, m.ndim - 2))
