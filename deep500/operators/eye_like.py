from ..contracts.operator import Operator, TensorSpec, case
from ._dtypes import dtype_of


class EyeLike(Operator):
    """A matrix of the same shape with ones on the k-th diagonal; `dtype` is ONNX's number of another type."""

    since = 9
    dtype: int | None = None
    k: int = 0

    def forward(self, xp, x):
        rows, columns = (xp.arange(n, "int64") for n in x.shape)
        dtype = x.dtype if self.dtype is None else dtype_of(self.dtype)
        return xp.astype(xp.expand_dims(rows + self.k, 1) == columns, dtype)

    def infer(self, x):
        return (TensorSpec(x.shape, x.dtype if self.dtype is None else dtype_of(self.dtype)),)

    def flops(self, x):
        return 0

    def bytes_moved(self, x):
        return self.infer(x)[0].nbytes

    cases = (
        case({"dtype": 1}, x=(3, 3)),
        case({"k": 1}, x=(2, 4)),
        case({"k": -2, "dtype": 7}, x=(4, 3)),
    )
