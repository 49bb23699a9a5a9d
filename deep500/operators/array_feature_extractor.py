import math

from ..contracts.operator import Operator, TensorSpec, case
from ._indexing import take_adjoint


class ArrayFeatureExtractor(Operator):
    """The elements at these places of the last axis; a vector counts as a matrix of one row."""

    domain = "ai.onnx.ml"
    integers = ("indices",)

    def forward(self, xp, x, indices):
        y = xp.take(x, xp.reshape(indices, (-1,)), x.ndim - 1)
        return xp.reshape(y, (1, -1)) if x.ndim == 1 else y

    def backward(self, xp, dy, x, indices):
        flat = xp.reshape(indices, (-1,))
        return take_adjoint(
            xp, xp.reshape(dy, (*x.shape[:-1], flat.shape[0])), flat, x.shape, x.ndim - 1
        )

    def infer(self, x, indices):
        return (TensorSpec((*(x.shape[:-1] or (1,)), math.prod(indices.shape)), x.dtype),)

    def flops(self, x, indices):
        return 0

    cases = (case(x=(2, 4), indices=[3, 0, 3]), case(x=(5,), indices=[[1, 2]]))
