from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Operator, TensorSpec, case
from ..namespace import ints, slice_axis


class TopK(Operator):
    """The k largest (or smallest) elements along an axis, in order, and their places; of equal ones the first."""

    axis_range = of_first_input
    axis: int = -1
    largest: int = 1
    sorted: int = 1
    outputs = ("values", "indices")

    def forward(self, xp, x, k: tuple[int, ...]):  # type: ignore[no-untyped-def]
        axis, count = self.axis % x.ndim, ints(k)[0]
        if self.largest:
            values, indices = xp.sort_descending(x, axis)
        else:  # backwards twice, so that equal ones keep their order; -x is not there for unsigned types
            values, indices = (
                xp.flip(part, axis) for part in xp.sort_descending(xp.flip(x, axis), axis)
            )
            indices = x.shape[axis] - 1 - indices
        return slice_axis(values, axis, 0, count), slice_axis(indices, axis, 0, count)

    def backward(self, xp, dvalues, x, indices):
        return xp.scatter_add(
            xp.zeros(x.shape, dvalues.dtype), indices, dvalues, self.axis % x.ndim
        )

    def native(self, framework):
        """Of equal elements PyTorch may take others than the first."""
        return super().native(framework) if self.largest and self.axis == -1 else None

    def jax(self, jax, x, k):
        values, indices = jax.lax.top_k(x, ints(k)[0])
        return values, indices.astype("int64")

    def tensorflow(self, tf, x, k):
        values, indices = tf.math.top_k(x, ints(k)[0])
        return values, tf.cast(indices, tf.int64)

    def check(self, x, k):
        self.infer(x, k)

    def infer(self, x, k):
        axis, count = self.axis % len(x.shape), ints(k)[0]
        if not 0 <= count <= x.shape[axis]:
            raise ValueError(f"TopK cannot take {count} of an axis of {x.shape[axis]}")
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
        return TensorSpec(shape, x.dtype), TensorSpec(shape, "int64")

    def flops(self, x, k):
        return x.size

    cases = (
        case(x=(3, 5), k=[2]),
        case({"axis": 0, "largest": 0}, x=(4, 2), k=[3]),
        case({"axis": 0, "largest": 0}, x=[[1, 2], [0, 2], [0, 3]], k=[2]),
        case({"axis": 1}, x=[[1, 4, 4, 4]], k=[3]),
    )
