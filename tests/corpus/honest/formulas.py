"""Right: operators as formulas over a namespace."""

import deep500 as d5
from deep500.contracts.operator import TensorSpec


class Places(d5.Operator):
    """Where the input is not 0: how many columns come out depends on the values."""

    data_dependent = True

    def forward(self, xp, x):
        return xp.permute_dims(xp.nonzero(x), (1, 0))

    def infer(self, x):
        return (TensorSpec((len(x.shape), x.size), "int64"),)


class SumAndProduct(d5.Operator):
    outputs = ("s", "p")

    def forward(self, xp, a, b):
        return a + b, a * b

    def backward(self, xp, ds, dp, a, b):
        return ds + dp * b, ds + dp * a

    def infer(self, a, b):
        return a, a


class Leaky(d5.Operator):
    """An attribute decides on the slope."""

    alpha: float = 0.25

    def forward(self, xp, x):
        return xp.where(x > 0, x, self.alpha * x)

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, self.alpha * dy)


class Cube(d5.Operator):
    """Without a backward."""

    def forward(self, xp, x):
        return x * x * x
