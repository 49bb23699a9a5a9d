from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import case
from ._elementwise import Flat


class Hardmax(Flat):
    """1 where an element is the largest along an axis (the first of several), 0 elsewhere."""

    since = 13
    axis_range = of_first_input
    axis: int = -1

    def forward(self, xp, x):
        if 0 in x.shape:
            return x
        axis = self.axis % x.ndim
        places = xp.reshape(xp.arange(x.shape[axis], "int64"), (-1, *[1] * (x.ndim - 1 - axis)))
        return xp.astype(xp.argmax(x, axis=axis, keepdims=True) == places, x.dtype)

    cases = (
        case(x=(3, 4)),
        case({"axis": 0}, x=[[1.0, 3.0], [1.5, 2.0]]),
        case({"axis": 1}, x=(2, 3, 2)),
    )
