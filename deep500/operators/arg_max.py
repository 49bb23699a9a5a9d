from ..contracts.operator import case
from ._extreme_index import ExtremeIndex


class ArgMax(ExtremeIndex):
    """Where along an axis the largest element is."""

    def first(self, xp, x):
        return xp.argmax(x, axis=self.axis, keepdims=bool(self.keepdims))

    cases = (
        case(data=(3, 4)),
        case({"axis": -1, "keepdims": 0}, data=[[2.0, 5.0, 5.0], [1.0, 1.0, 0.0]]),
        case({"axis": 1, "select_last_index": 1}, data=[[2.0, 5.0, 5.0], [1.0, 1.0, 0.0]]),
    )
