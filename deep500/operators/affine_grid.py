import itertools
import math

from ..contracts.operator import Operator, TensorSpec, case


class AffineGrid(Operator):
    """For every element of an array of this size, where GridSample is to read it: its own place, moved by theta."""

    since = 20
    align_corners: int = 0

    def forward(self, xp, theta, size: tuple[int, ...]):  # type: ignore[no-untyped-def]
        y = xp.matmul(
            xp.asarray(self._places(size), theta.dtype), xp.permute_dims(theta, (0, 2, 1))
        )
        return xp.reshape(y, (theta.shape[0], *size[2:], len(size) - 2))

    def backward(self, xp, dy, theta, size):
        rows = xp.reshape(dy, (dy.shape[0], math.prod(size[2:]), len(size) - 2))
        return xp.matmul(xp.permute_dims(rows, (0, 2, 1)), xp.asarray(self._places(size), dy.dtype))

    def pytorch(self, torch, theta, size):
        return torch.nn.functional.affine_grid(theta, list(size), bool(self.align_corners))

    def infer(self, theta, size):
        return (TensorSpec((theta.shape[0], *size[2:], len(size) - 2), theta.dtype),)

    def flops(self, theta, size):
        return 2 * self.infer(theta, size)[0].size * theta.shape[-1]

    def _places(self, size):
        """A row for every element: its coordinates from -1 to 1, those of the last axis first, and a one."""
        lines = [[self._place(i, n) for i in range(n)] for n in size[2:]]
        return [[*at[::-1], 1.0] for at in itertools.product(*lines)]

    def _place(self, i, n):
        if self.align_corners:
            return 2 * i / (n - 1) - 1 if n > 1 else 0.0
        return (2 * i + 1) / n - 1

    cases = (
        case(theta=(2, 2, 3), size=[2, 3, 3, 4]),
        case({"align_corners": 1}, theta=(1, 3, 4), size=[1, 1, 2, 3, 2]),
    )
