import math

from ..contracts.operator import Operator, TensorSpec, case


class Size(Operator):
    """The number of elements."""

    def forward(self, xp, data):
        return xp.asarray(math.prod(data.shape), "int64")

    def infer(self, data):
        return (TensorSpec((), "int64"),)

    def flops(self, data):
        return 0

    def bytes_moved(self, data):
        return self.infer(data)[0].nbytes

    cases = (case(data=(2, 3)), case(data=()), case(data=(0, 3)))
