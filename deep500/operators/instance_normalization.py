from ..contracts.operator import Operator, case
from ._normalising import (
    normal,
    normal_gradient,
    per_channel,
    statistics,
)


class InstanceNormalization(Operator):
    """x with the mean and variance of every channel of every example taken out, then scaled and shifted by channel."""

    epsilon: float = 1e-5
    saved = ("mean", "inv_std")

    def forward(self, xp, x, scale, b):
        mean, inv_std = statistics(xp, x, _axes(x), self.epsilon)
        y = normal(xp, x, mean, inv_std) * per_channel(xp, scale, x) + per_channel(xp, b, x)
        return y, mean, inv_std

    def backward(self, xp, dy, x, scale, mean, inv_std):
        n, others = normal(xp, x, mean, inv_std), (0, *_axes(x))
        dx = normal_gradient(xp, dy * per_channel(xp, scale, x), n, inv_std, _axes(x))
        return dx, xp.sum(dy * n, axis=others), xp.sum(dy, axis=others)

    # nn.functional.instance_norm refuses a single element
    def pytorch(self, torch, x, scale, b):
        return torch.instance_norm(x, scale, b, None, None, True, 0.0, self.epsilon, False)

    def infer(self, x, scale, b):
        return (x,)

    def flops(self, x, scale, b):
        return 8 * x.size  # mean 1, variance 3, normalise 2, scale and shift 2

    cases = (
        case(x=(2, 3, 4), scale=(3,), b=(3,)),
        case({"epsilon": 0.1}, x=(2, 2, 3, 2), scale=(2,), b=(2,)),
        case({"epsilon": 0.01}, x=(1, 1, 5), scale=(1,), b=(1,)),
    )


def _axes(x):
    return tuple(range(2, x.ndim))
