import numpy as np

from ..contracts.operator import Operator, TensorSpec, case


class ConstantOfShape(Operator):
    """An array of a shape, full of one value: a NumPy scalar, of whose dtype the array is."""

    since = 9
    value: np.generic = np.float32(0)

    def forward(self, xp, shape: tuple[int, ...]):  # type: ignore[no-untyped-def]
        return xp.full(shape, self.value.item(), self.value.dtype.name)

    def infer(self, shape):
        return (TensorSpec(tuple(shape), self.value.dtype.name),)

    def flops(self, shape):
        return 0

    cases = (
        case(shape=[2, 3]),
        case({"value": np.int64(-4)}, shape=[3]),
        case({"value": np.float32(1.5)}, shape=[]),
    )
