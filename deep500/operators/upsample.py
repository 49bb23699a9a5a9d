from typing import Literal

from ..contracts.operator import Operator, case
from .resize import Floats, Resize


class Upsample(Operator):
    """x repeated or interpolated to be larger, in opsets 7 to 9; Resize came after it."""

    since = 7
    mode: Literal["nearest", "linear", "bilinear"] = "nearest"

    def forward(self, xp, x, scales: Floats):  # type: ignore[no-untyped-def]
        return self._resize().forward(xp, x, None, scales)

    def backward(self, xp, dy, x, scales):
        return self._resize().backward(xp, dy, x, None, scales, None)

    def infer(self, x, scales):
        return self._resize().infer(x, None, scales)

    def flops(self, x, scales):
        return self._resize().flops(x, None, scales)

    def _resize(self):
        return Resize(
            coordinate_transformation_mode="asymmetric",
            mode="nearest" if self.mode == "nearest" else "linear",
            nearest_mode="floor",
        )

    cases = (
        case(x=(1, 2, 2, 3), scales=[1.0, 1.0, 2.0, 3.0]),
        case({"mode": "linear"}, x=(2, 1, 2, 3), scales=[1.0, 1.0, 2.0, 2.0]),
    )
