import math

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import count
from ._normalising import (
    normal,
    normal_gradient,
    statistics,
    statistics_dtype,
    trailing,
)


class LayerNormalization(Operator):
    """x with the mean and variance of the axes from `axis` on taken out, then scaled and shifted."""

    since = 17
    axis_range = of_first_input
    axis: int = -1
    epsilon: float = 1e-5
    stash_type: int = 1
    outputs = ("y", "mean", "inv_std_dev")
    native_outputs = 1

    def forward(self, xp, x, scale, b=None):
        mean, inv_std_dev = statistics(xp, x, trailing(x, self.axis), self.epsilon)
        y = normal(xp, x, mean, inv_std_dev) * scale
        return y if b is None else y + b, mean, inv_std_dev

    def backward(self, xp, dy, dmean, dinv_std_dev, x, scale, mean, inv_std_dev):
        axes = trailing(x, self.axis)
        n = normal(xp, x, mean, inv_std_dev)
        dx = normal_gradient(xp, dy * scale, n, inv_std_dev, axes)
        by_statistics = (dmean - dinv_std_dev * xp.square(inv_std_dev) * n) / count(x.shape, axes)
        return dx + xp.astype(by_statistics, x.dtype), dy * n, dy

    def pytorch(self, torch, x, scale, b=None):
        shape = x.shape[self.axis % x.ndim :]
        if scale.shape == shape and (b is None or b.shape == shape):
            return torch.nn.functional.layer_norm(x, shape, scale, b, self.epsilon)
        # scale is broadcast over x, which PyTorch's own weight cannot be
        y = torch.nn.functional.layer_norm(x, shape, None, None, self.epsilon) * scale
        return y if b is None else y + b

    def infer(self, x, scale, b=None):
        axes = trailing(x, self.axis)
        one = TensorSpec(
            tuple(1 if i in axes else n for i, n in enumerate(x.shape)), statistics_dtype(x)
        )
        return x, one, one

    def flops(self, x, scale, b=None):
        return 8 * math.prod(x.shape)  # mean 1, variance 3, normalise 2, scale and shift 2

    cases = (
        case(x=(3, 4), scale=(4,), b=(4,)),
        case({"axis": 1, "epsilon": 0.1}, x=(2, 3, 4), scale=(3, 4)),
        case({"axis": 0}, x=(2, 3), scale=(3,), b=(1,)),
        case({"axis": -2}, x=(2, 2, 1, 3), scale=(1, 3), b=(1, 3)),
    )
