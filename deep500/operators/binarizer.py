from ..contracts.operator import case
from ._elementwise import Flat


class Binarizer(Flat):
    """1 where x is above the threshold, 0 elsewhere."""

    domain = "ai.onnx.ml"
    threshold: float = 0.0

    def forward(self, xp, x):
        return xp.astype(x > self.threshold, x.dtype)

    cases = (case(x=(3, 4)), case({"threshold": 1.0}, x=[[0.5, 0.9, 2.5]]))
