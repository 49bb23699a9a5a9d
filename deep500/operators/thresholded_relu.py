from ..contracts.operator import Operator, case


class ThresholdedRelu(Operator):
    """x where x is larger than alpha, 0 elsewhere."""

    since = 10
    alpha: float = 1.0

    def forward(self, xp, x):
        return xp.where(x > self.alpha, x, xp.zeros_like(x))

    def backward(self, xp, dy, x):
        return xp.where(x > self.alpha, dy, xp.zeros_like(dy))

    def pytorch(self, torch, x):
        return torch.nn.functional.threshold(x, self.alpha, 0)

    cases = (case(x=(3, 4, 5)), case({"alpha": 0.3}, x=(2, 7)), case({"alpha": -2.0}, x=()))
