import math

from ..contracts.operator import Operator, TensorSpec, case
from ._attention import (
    grouped,
    product,
    softmax,
    softmax_gradient,
    swapped,
)
from ._dtypes import dtype_of


class FlexAttention(Operator):
    """softmax(q kᵀ scale) v, head by head, with the softmax in float32 or wider unless softmax_precision says so.

    Inputs are (batch, heads, length, size); neighbouring heads of queries may share one of keys and values. Scores and
    probabilities that a model changes on the way are written out as nodes of their own when it is read.
    """

    domain = "ai.onnx.preview"
    scale: float | None = None
    softmax_precision: int | None = None
    saved = ("weights",)

    def forward(self, xp, q, k, v):
        half, wide = math.sqrt(self._scale(q)), self._wide(q)
        scores = product(xp, q * half, swapped(xp, k * half))
        weights = softmax(xp, xp.astype(scores, wide))
        return xp.astype(product(xp, weights, xp.astype(v, wide)), v.dtype), weights

    def backward(self, xp, dy, q, k, v, weights):
        dy, values = (xp.astype(x, weights.dtype) for x in (dy, v))
        dscores = softmax_gradient(xp, product(xp, dy, swapped(xp, values)), weights)
        dscores = xp.astype(dscores, q.dtype) * self._scale(q)
        dk = xp.matmul(swapped(xp, grouped(xp, dscores, k)), grouped(xp, q, k))
        dv = xp.matmul(swapped(xp, grouped(xp, weights, v)), grouped(xp, dy, v))
        return product(xp, dscores, k), dk, xp.astype(dv, v.dtype)

    def native(self, framework):
        return super().native(framework) if self.softmax_precision is None else None

    def pytorch(self, torch, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, scale=self.scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    def infer(self, q, k, v):
        return (TensorSpec((*q.shape[:3], v.shape[3]), v.dtype),)

    def flops(self, q, k, v):
        scores = math.prod(q.shape[:3]) * k.shape[2]
        return scores * (2 * q.shape[3] + 5 + 2 * v.shape[3])

    def _scale(self, q):
        return 1 / math.sqrt(q.shape[3]) if self.scale is None else self.scale

    def _wide(self, q):
        if self.softmax_precision is not None:
            return dtype_of(self.softmax_precision)
        return "float32" if "16" in str(q.dtype) else q.dtype

    cases = (
        case(q=(2, 2, 3, 4), k=(2, 2, 5, 4), v=(2, 2, 5, 3)),
        case({"scale": 0.3}, q=(1, 4, 2, 3), k=(1, 2, 3, 3), v=(1, 2, 3, 2)),
    )
