"""The functions that formulas use, on arrays without elements: they allocate what NumPy's would."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import Unsupported
from ..namespace import Axis, Namespace, Pads, count, ints, window_counts
from .abstract_arrays import (
    AbstractArray,
    Meter,
    common_dtype,
    contiguous_outline,
    depth_of,
    elementwise,
    new,
    product,
    shape_of,
    tree,
)


def _unary(self: Namespace, x: Any) -> AbstractArray:
    return elementwise(self.meter, (x,))  # type: ignore[attr-defined]


def _binary(self: Namespace, x: Any, y: Any) -> AbstractArray:
    return elementwise(self.meter, (x, y))  # type: ignore[attr-defined]


def _logical(self: Namespace, *xs: Any) -> AbstractArray:
    return elementwise(self.meter, xs, "bool")  # type: ignore[attr-defined]


def _reduction(
    self: Namespace, x: Any, axis: Axis = None, keepdims: bool = False
) -> AbstractArray:
    shape = _reduced_shape(x.shape, axis, keepdims)
    depth = x.depth + tree(count(x.shape, axis))
    return new(self.meter, shape, x.dtype, depth=depth)  # type: ignore[attr-defined]


def _reduced_shape(shape: Sequence[int], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    axes = range(len(shape)) if axis is None else ints(axis)
    reduced_axes = {a % len(shape) for a in axes}
    sizes = []
    for i, size in enumerate(shape):
        if i not in reduced_axes:
            sizes.append(size)
        elif keepdims:
            sizes.append(1)
    return tuple(sizes)


class AbstractNamespace(Namespace):
    """NumPy's namespace on arrays without elements."""

    abs = exp = log = sqrt = sign = floor = erf = _unary
    sin = cos = tanh = asin = acos = atan = _unary
    sinh = cosh = expm1 = log1p = _unary
    maximum = minimum = pow = fmod = _binary
    isnan = logical_not = logical_and = logical_or = _logical
    sum = prod = max = min = _reduction

    def __init__(self, meter: Meter):
        self.meter = meter

    def where(self, condition: Any, x: Any, y: Any) -> AbstractArray:
        dtype = common_dtype((x, y))
        return elementwise(self.meter, (condition, x, y), dtype)

    def astype(self, x: Any, dtype: Any) -> AbstractArray:
        shape = shape_of(x)
        depth = depth_of((x,))
        return new(self.meter, shape, dtype, depth=depth)

    def bitcast(self, x: Any, dtype: Any) -> AbstractArray:
        outline = contiguous_outline(x.shape, np.dtype(dtype))
        return x.view(outline)

    def asarray(self, value: Any, dtype: Any = None) -> AbstractArray:
        if not isinstance(value, AbstractArray):
            array = np.asarray(value, dtype)
            return new(self.meter, array.shape, array.dtype)
        if dtype in (None, value.dtype):
            return value
        return self.astype(value, dtype)

    def host(
        self, function: Any, kinds: Sequence[Any], *xs: Any
    ) -> list[AbstractArray]:
        """The results that a function of NumPy's arrays declares; it is not called, and counts as one operation."""
        depth = depth_of(xs) + 1
        return [new(self.meter, k.shape, k.dtype, depth=depth) for k in kinds]

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> AbstractArray:
        return new(self.meter, shape, dtype)

    def arange(self, n: int, dtype: Any) -> AbstractArray:
        return new(self.meter, (n,), dtype)

    def reshape(self, x: Any, shape: Sequence[int]) -> AbstractArray:
        try:
            return x.view(np.reshape(x.outline, tuple(shape), copy=False))
        except ValueError:  # it takes a copy, or the sizes do not fit
            # their product, where one size is -1
            other_sizes = -math.prod(shape)
            sizes = [x.size // other_sizes if n == -1 else n for n in shape]
            if math.prod(sizes) != x.size:
                raise
            return new(self.meter, sizes, x.dtype, depth=x.depth)

    def permute_dims(self, x: Any, axes: Sequence[int]) -> AbstractArray:
        outline = np.permute_dims(x.outline, tuple(axes))
        return x.view(outline)

    def broadcast_to(self, x: Any, shape: Sequence[int]) -> AbstractArray:
        outline = np.broadcast_to(x.outline, tuple(shape))
        return x.view(outline)

    def flip(self, x: Any, axis: int) -> AbstractArray:
        outline = np.flip(x.outline, axis)
        return x.view(outline)

    def concat(self, xs: Sequence[Any], axis: int = 0) -> AbstractArray:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        dtype = common_dtype(xs)
        return new(self.meter, shape, dtype, depth=depth_of(xs))

    def enlarge(self, x: Any, pads: Pads, value: float) -> AbstractArray:
        shape = []
        for size, (before, after) in zip(x.shape, pads, strict=True):
            shape.append(size + before + after)
        return new(self.meter, shape, x.dtype, depth=x.depth)

    def argmax(self, x: Any, axis: int, keepdims: bool = False) -> AbstractArray:
        shape = _reduced_shape(x.shape, axis, keepdims)
        depth = x.depth + tree(x.shape[axis])
        return new(self.meter, shape, "int64", depth=depth)

    def cumulative_sum(self, x: Any, axis: int) -> AbstractArray:
        depth = x.depth + tree(x.shape[axis])
        return new(self.meter, x.shape, x.dtype, depth=depth)

    def matmul(self, x: Any, y: Any) -> AbstractArray:
        return product(self.meter, x, y)

    def einsum(self, formula: str, *xs: Any) -> AbstractArray:
        compact = formula.replace(" ", "")
        terms, arrow, result = compact.partition("->")
        if not arrow or "." in formula:
            raise Unsupported(f"the shape of einsum {formula!r} is not worked out")
        sizes: dict[str, int] = {}
        for term, x in zip(terms.split(","), xs, strict=True):
            for letter, size in zip(term, x.shape, strict=True):
                sizes[letter] = max(size, sizes.get(letter, 1))
        shape = [sizes[letter] for letter in result]
        summed = [size for letter, size in sizes.items() if letter not in result]
        additions = tree(math.prod(summed))
        depth = depth_of(xs) + 1 + additions
        return new(self.meter, shape, common_dtype(xs), depth=depth)

    def take(self, x: Any, indices: Any, axis: int = 0) -> AbstractArray:
        axis %= x.ndim
        before = x.shape[:axis]
        after = x.shape[axis + 1 :]
        shape = (*before, *shape_of(indices), *after)
        depth = depth_of((x, indices))
        return new(self.meter, shape, x.dtype, depth=depth)

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> AbstractArray:
        depth = depth_of((x, indices))
        return new(self.meter, indices.shape, x.dtype, depth=depth)

    def scatter_add(
        self, x: Any, indices: Any, values: Any, axis: int
    ) -> AbstractArray:
        additions = tree(values.shape[axis] + 1)
        depth = depth_of((x, indices, values)) + additions
        return new(self.meter, x.shape, x.dtype, depth=depth)

    def sort_descending(self, x: Any, axis: int) -> tuple[AbstractArray, AbstractArray]:
        levels = tree(x.shape[axis])
        depth = x.depth + levels * (levels + 1) // 2  # Batcher's network
        indices = new(self.meter, x.shape, "int64", depth=depth)
        ordered = new(self.meter, x.shape, x.dtype, depth=depth)
        return ordered, indices

    def windows(
        self,
        x: Any,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> AbstractArray:
        n = len(kernel)
        spatial_shape = x.shape[-n:]
        counts = window_counts(spatial_shape, kernel, strides, dilations)
        spatial_strides = x.outline.strides[-n:]
        between_windows = []
        for stride, nbytes in zip(strides, spatial_strides, strict=True):
            between_windows.append(stride * nbytes)
        within_windows = []
        for dilation, nbytes in zip(dilations, spatial_strides, strict=True):
            within_windows.append(dilation * nbytes)
        window_shape = (*x.shape[:-n], *counts, *kernel)
        outer_strides = x.outline.strides[:-n]
        window_strides = (*outer_strides, *between_windows, *within_windows)
        as_strided = np.lib.stride_tricks.as_strided
        outline = as_strided(x.outline, window_shape, window_strides)
        return x.view(outline)

    def fold(
        self,
        w: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> AbstractArray:
        n = len(shape)
        additions = tree(math.prod(w.shape[-n:]))
        depth = w.depth + additions
        folded_shape = (*w.shape[: -2 * n], *shape)
        return new(self.meter, folded_shape, w.dtype, depth=depth)

    def stuff(self, x: Any, strides: Sequence[int]) -> AbstractArray:
        n = len(strides)
        spatial = []
        for size, stride in zip(x.shape[-n:], strides, strict=True):
            spatial.append((size - 1) * stride + 1)
        shape = (*x.shape[:-n], *spatial)
        return new(self.meter, shape, x.dtype, depth=x.depth)
