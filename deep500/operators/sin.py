from ..contracts.operator import Operator, case


class Sin(Operator):
    """The sine of x."""

    since = 7

    def forward(self, xp, x):
        return xp.sin(x)

    def backward(self, xp, dy, x):
        return dy * xp.cos(x)

    def pytorch(self, torch, x):
        return torch.sin(x)

    cases = (case(x=(3, 4)),)
