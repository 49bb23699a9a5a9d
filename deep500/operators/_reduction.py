"""What the operators that reduce over axes share."""

import math

from ..contracts.axis_ranges import of_first_input
from ..contracts.operator import Ints, Operator, TensorSpec
from ..namespace import kind


class Reduction(Operator):
    """A subclass says how to `reduce` (axes stay, with length 1), how gradients `spread`, and PyTorch's kernel.

    No axes, or an empty list of them, means all axes; with noop_with_empty_axes it means that each element is alone.
    """

    axis_range = of_first_input
    keepdims: int = 1
    noop_with_empty_axes: int = 0

    def forward(self, xp, data, axes: Ints = None):  # type: ignore[no-untyped-def]
        return xp.reshape(
            self.reduce(xp, *self._some(xp, data, axes)), self._shape(data.shape, axes)
        )

    def backward(self, xp, dy, data, y, axes):
        x, where = self._some(xp, data, axes)
        wide = reduced(x.shape, where)
        return xp.reshape(
            self.spread(xp, xp.reshape(dy, wide), x, xp.reshape(y, wide), where), data.shape
        )

    def pytorch(self, torch, data, axes=None):
        return self.kernel(torch, *self._asked(torch, data, axes))

    def reduce(self, xp, x, axes):
        raise NotImplementedError

    def spread(self, xp, dy, x, y, axes):
        raise NotImplementedError

    def kernel(self, torch, x, axes, keepdim):
        raise NotImplementedError

    def infer(self, data, axes=None):
        return (TensorSpec(self._shape(data.shape, axes), data.dtype),)

    def flops(self, data, axes=None):
        return data.size

    def _some(self, module, data, axes):
        """Data and the axes to reduce, of which there is at least one: frameworks take none for all."""
        where = self._axes(data.shape, axes)
        return (data, where) if where else (module.reshape(data, (1, *data.shape)), (0,))

    def _asked(self, module, data, axes):
        """What a framework's own function takes: data, axes, and whether these stay."""
        x, where = self._some(module, data, axes)
        return x, where, bool(self.keepdims) and x is data

    def _axes(self, shape, axes):
        if not axes:
            return () if self.noop_with_empty_axes else tuple(range(len(shape)))
        return tuple(sorted(axis % len(shape) for axis in axes))

    def _shape(self, shape, axes):
        return reduced(shape, self._axes(shape, axes), self.keepdims)


class ReducedExtreme(Reduction):
    """The largest or the smallest element; several that are share the gradient."""

    def spread(self, xp, dy, x, y, axes):
        chosen = xp.astype(x == y, x.dtype)
        return dy * chosen / xp.sum(chosen, axis=axes, keepdims=True)


def is_empty(shape, axes):
    """Whether a reduction over these axes has nothing to reduce."""
    return math.prod(shape[axis] for axis in axes) == 0


def reduced(shape, axes, keepdims=True):
    """The shape that is left."""
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keepdims or i not in axes)


def limits(x):
    """The smallest and the largest value of x's dtype: the extremes of nothing."""
    if (what := kind(x)) in ("float", "bool"):
        return (-math.inf, math.inf) if what == "float" else (False, True)
    bits = int("".join(filter(str.isdigit, str(x.dtype))))
    return (0, 2**bits - 1) if what == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
