from ..contracts.operator import case
from ._extreme_index import ExtremeIndex


class ArgMin(ExtremeIndex):
    """Where along an axis the smallest element is."""

    def first(self, xp, x):
        # not the maximum of -x, since unsigned types have no negatives
        smallest = x == xp.min(x, axis=self.axis, keepdims=True)
        return xp.argmax(xp.astype(smallest, "int32"), axis=self.axis, keepdims=bool(self.keepdims))

    cases = (
        case(data=(3, 4)),
        case({"axis": -1, "keepdims": 0}, data=[[2.0, 0.5, 0.5], [1.0, 1.0, 2.0]]),
        case({"axis": 1, "select_last_index": 1}, data=[[2.0, 0.5, 0.5], [1.0, 1.0, 2.0]]),
    )
