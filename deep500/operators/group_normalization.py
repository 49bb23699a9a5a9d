import math

from ..contracts.operator import Operator, case
from ..contracts.setting_ranges import Count
from ._normalising import (
    normal,
    normal_gradient,
    per_channel,
    statistics,
)


class GroupNormalization(Operator):
    """x with the mean and variance of every group of channels taken out, then scaled and shifted by channel."""

    since = 21
    num_groups: Count
    epsilon: float = 1e-5
    stash_type: int = 1
    saved = ("mean", "inv_std")

    def forward(self, xp, x, scale, bias):
        wide = self._grouped(xp, x)
        mean, inv_std = statistics(xp, wide, (2,), self.epsilon)
        n = xp.reshape(normal(xp, wide, mean, inv_std), x.shape)
        return n * self._stretched(xp, scale, x) + self._stretched(xp, bias, x), mean, inv_std

    def backward(self, xp, dy, x, scale, mean, inv_std):
        n = normal(xp, self._grouped(xp, x), mean, inv_std)
        dx = normal_gradient(
            xp, self._grouped(xp, dy * self._stretched(xp, scale, x)), n, inv_std, (2,)
        )
        return (
            xp.reshape(dx, x.shape),
            self._summed(xp, dy * xp.reshape(n, x.shape), scale),
            self._summed(xp, dy, scale),
        )

    def pytorch(self, torch, x, scale, bias):
        return torch.nn.functional.group_norm(x, self.num_groups, scale, bias, self.epsilon)

    def infer(self, x, scale, bias):
        if x.shape[1] % self.num_groups:
            raise ValueError(f"{x.shape[1]} channels do not make {self.num_groups} groups")
        return (x,)

    def flops(self, x, scale, bias):
        return 8 * x.size  # mean 1, variance 3, normalise 2, scale and shift 2

    def _grouped(self, xp, x):
        # not -1 in the shape, which cannot be inferred for an empty batch
        each = math.prod(x.shape[1:]) // self.num_groups
        return xp.reshape(x, (x.shape[0], self.num_groups, each))

    def _stretched(self, xp, value, x):
        return per_channel(xp, value, x)

    def _summed(self, xp, x, value):
        """The adjoint of _stretched."""
        return xp.sum(x, axis=(0, *range(2, x.ndim)))

    cases = (
        case({"num_groups": 2}, x=(3, 4, 2, 2), scale=(4,), bias=(4,)),
        case({"num_groups": 1, "epsilon": 0.1}, x=(2, 3, 4), scale=(3,), bias=(3,)),
        case({"num_groups": 2}, x=(2, 2, 3), scale=(2,), bias=(2,)),
    )


class GroupNormalization_18(GroupNormalization):
    """Before opset 21 there is one scale and one shift for every group."""

    since = 18

    def pytorch(self, torch, x, scale, bias):
        each = x.shape[1] // self.num_groups
        return torch.nn.functional.group_norm(
            x,
            self.num_groups,
            scale.repeat_interleave(each),
            bias.repeat_interleave(each),
            self.epsilon,
        )

    def _stretched(self, xp, value, x):
        each = (self.num_groups, x.shape[1] // self.num_groups)
        return per_channel(
            xp, xp.reshape(xp.broadcast_to(xp.expand_dims(value, 1), each), (-1,)), x
        )

    def _summed(self, xp, x, value):
        by_channel = super()._summed(xp, x, value)
        return xp.sum(xp.reshape(by_channel, (self.num_groups, -1)), axis=1)

    cases = (case({"num_groups": 2}, x=(3, 4, 2, 2), scale=(2,), bias=(2,)),)  # type: ignore[assignment]
