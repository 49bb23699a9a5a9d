from ..contracts.dtypes import bits, name_of
from ..contracts.operator import Operator, TensorSpec, case
from ..errors import Deep500Error
from ._dtypes import dtype_of


class BitCast(Operator):
    """The bits of x, taken for another dtype of the same width."""

    since = 26
    rounds = False
    to: int

    def forward(self, xp, x):
        return xp.bitcast(x, self._dtype(x))

    def infer(self, x):
        return (TensorSpec(x.shape, self._dtype(x)),)

    def flops(self, x):
        return 0

    def _dtype(self, x):
        dtype = dtype_of(self.to)
        if bits(dtype) != bits(own := name_of(x.dtype)):
            raise Deep500Error(
                f"BitCast needs dtypes of one width: {own} has {bits(own)} bits, {dtype} {bits(dtype)}"
            )
        return dtype

    cases = (
        case({"to": 12}, x=TensorSpec((3, 4), "int32")),
        case({"to": 2}, x=TensorSpec((5,), "int8")),
    )
