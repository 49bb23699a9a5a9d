from ..contracts.operator import Operator, case
from ..contracts.setting_ranges import Count
from ..namespace import slice_axis


class LRN(Operator):
    """x divided by a power of the mean square of the channels around each."""

    size: Count
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0
    saved = ("base",)

    def forward(self, xp, x):
        base = self.bias + self.alpha / self.size * self._around(xp, xp.square(x), self._before)
        return x * base**-self.beta, base

    def backward(self, xp, dy, x, base):
        by_base = dy * x * base ** (-self.beta - 1)
        # a channel is in the mirrored windows of its neighbors
        back = self._around(xp, by_base, self.size - 1 - self._before)
        return dy * base**-self.beta - 2 * self.alpha * self.beta / self.size * x * back

    def pytorch(self, torch, x):
        return torch.nn.functional.local_response_norm(
            x, self.size, self.alpha, self.beta, self.bias
        )

    def native(self, framework):
        # for an even size, PyTorch has the longer side before the channel, ONNX behind it
        odd = framework != "pytorch" or self.size % 2
        return super().native(framework) if odd else None

    def infer(self, x):
        return (x,)

    def flops(self, x):
        return (self.size + 5) * x.size

    @property
    def _before(self):
        """How many channels before its own a window takes in."""
        return (self.size - 1) // 2

    def _around(self, xp, x, before):
        """The sum of the window of every channel."""
        after, channels = self.size - 1 - before, x.shape[1]
        wide = xp.pad(x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
        total = slice_axis(wide, 1, 0, channels)
        for i in range(1, self.size):
            total = total + slice_axis(wide, 1, i, i + channels)
        return total

    cases = (
        case({"size": 3, "alpha": 0.5, "bias": 2.0}, x=(2, 5, 3, 2)),
        case({"size": 4, "alpha": 0.5}, x=(2, 5, 2, 2)),
        case({"size": 1}, x=(1, 2, 2, 1)),
        case({"size": 7, "alpha": 1.0, "beta": 0.5}, x=(2, 3, 2, 2)),
    )
