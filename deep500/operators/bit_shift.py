from typing import Literal

from ..contracts.dtypes import bits, name_of
from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import kind


class BitShift(Operator):
    """The bits of x moved by y places, to the LEFT or to the RIGHT; what leaves the word is lost.

    To the right the sign bit is kept. A move by a negative number, or by the width of x or more, leaves nothing else.
    """

    since = 11
    direction: Literal["LEFT", "RIGHT"]

    def forward(self, xp, x, by):
        shift = xp.shift_left if self.direction == "LEFT" else xp.shift_right
        beyond = by >= bits(name_of(x.dtype))
        beyond = beyond | (by < 0) if kind(by) == "int" else beyond
        left = (
            xp.astype(x < 0, x.dtype) * -1
            if self.direction == "RIGHT" and kind(x) == "int"
            else xp.zeros_like(x)
        )
        return xp.where(beyond, left, shift(x, xp.where(beyond, xp.zeros_like(by), by)))

    cases = (
        case({"direction": "LEFT"}, x=TensorSpec((3, 4), "uint8"), by=TensorSpec((4,), "uint8")),
        case({"direction": "RIGHT"}, x=TensorSpec((3, 4), "uint8"), by=TensorSpec((3, 1), "uint8")),
    )
