from typing import Literal

from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Count
from .depth_to_space import DepthToSpace


class SpaceToDepth(Operator):
    """Blocks of the plane stacked as channels: what DepthToSpace undoes."""

    blocksize: Count
    mode: Literal["DCR", "CRD"] | None = None  # "DCR"; opsets before 28 know no other

    def forward(self, xp, x):
        return self._inverse.backward(xp, x)

    def backward(self, xp, dy):
        return self._inverse.forward(xp, dy)

    def infer(self, x):
        (n, c, h, w), b = x.shape, self.blocksize
        return (TensorSpec((n, c * b**2, h // b, w // b), x.dtype),)

    def flops(self, x):
        return 0

    @property
    def _inverse(self):
        return DepthToSpace(self.blocksize, self.mode or "DCR")

    cases = (case({"blocksize": 2}, x=(2, 2, 4, 2)), case({"blocksize": 3}, x=(1, 1, 3, 6)))
