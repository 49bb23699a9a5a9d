from ..contracts.operator import Operator, case


class Cos(Operator):
    """The cosine of x."""

    since = 7

    def forward(self, xp, x):
        return xp.cos(x)

    def backward(self, xp, dy, x):
        return -dy * xp.sin(x)

    def pytorch(self, torch, x):
        return torch.cos(x)

    cases = (case(x=(3, 4)),)
