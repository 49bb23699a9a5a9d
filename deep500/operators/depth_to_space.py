from typing import Literal

from ..contracts.operator import Operator, TensorSpec, case
from ..contracts.setting_ranges import Count


class DepthToSpace(Operator):
    """Blocks of channels spread over the plane; mode says whether a block varies slowest (DCR) or fastest (CRD)."""

    blocksize: Count
    mode: Literal["DCR", "CRD"] = "DCR"

    def forward(self, xp, x):
        (n, c, h, w), b = x.shape, self.blocksize
        if self.mode == "DCR":
            y = xp.permute_dims(xp.reshape(x, (n, b, b, c // b**2, h, w)), (0, 3, 4, 1, 5, 2))
        else:
            y = xp.permute_dims(xp.reshape(x, (n, c // b**2, b, b, h, w)), (0, 1, 4, 2, 5, 3))
        return xp.reshape(y, (n, c // b**2, h * b, w * b))

    def backward(self, xp, dy):
        (n, c, h, w), b = dy.shape, self.blocksize
        blocks = xp.reshape(dy, (n, c, h // b, b, w // b, b))
        order = (0, 3, 5, 1, 2, 4) if self.mode == "DCR" else (0, 1, 3, 5, 2, 4)
        return xp.reshape(xp.permute_dims(blocks, order), (n, c * b**2, h // b, w // b))

    def infer(self, x):
        (n, c, h, w), b = x.shape, self.blocksize
        return (TensorSpec((n, c // b**2, h * b, w * b), x.dtype),)

    def flops(self, x):
        return 0

    cases = (
        case({"blocksize": 2}, x=(1, 8, 2, 3)),
        case({"blocksize": 2, "mode": "CRD"}, x=(2, 4, 1, 3)),
    )
