from ..contracts.operator import case
from ._elementwise import Elementwise


class PRelu(Elementwise):
    """x where x is positive, slope * x elsewhere; the slope is broadcast to x."""

    since = 7
    cost = 2

    def forward(self, xp, x, slope):
        return xp.where(x > 0, x, slope * x)

    def backward(self, xp, dy, x, slope):
        return xp.where(x > 0, dy, slope * dy), xp.where(x > 0, xp.zeros_like(dy), x * dy)

    def pytorch(self, torch, x, slope):
        by_channel = slope.ndim == x.ndim - 1 and slope.numel() == slope.shape[0]
        if slope.numel() == 1 or by_channel:
            return torch.prelu(x, slope.reshape(-1))
        return torch.where(x > 0, x, slope * x)  # PyTorch has no slopes but for channels

    cases = (case(x=(2, 3, 4), slope=(3, 1)), case(x=(3, 4), slope=()))
