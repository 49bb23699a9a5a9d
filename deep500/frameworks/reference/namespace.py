"""The namespace of array functions over NumPy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...namespace import (
    Axis,
    Namespace,
    Pads,
    bind,
    elements,
    ints,
    offsets,
)


class NumpyNamespace(Namespace):
    """Arrays are np.ndarray; the scalars that NumPy returns for arrays without axes behave in the same way."""

    abs, exp, log, sqrt = bind(np.abs, np.exp, np.log, np.sqrt)
    sin, cos, tanh, sign, floor, isnan = bind(
        np.sin, np.cos, np.tanh, np.sign, np.floor, np.isnan
    )
    asin, acos, atan, sinh, cosh = bind(np.asin, np.acos, np.atan, np.sinh, np.cosh)
    expm1, log1p, fmod = bind(np.expm1, np.log1p, np.fmod)
    logical_not, logical_and, logical_or = bind(
        np.logical_not, np.logical_and, np.logical_or
    )
    maximum, minimum, pow, where = bind(np.maximum, np.minimum, np.power, np.where)
    asarray, full, broadcast_to = bind(np.asarray, np.full, np.broadcast_to)
    permute_dims, concat, flip = bind(np.permute_dims, np.concat, np.flip)
    matmul, take_along_axis = bind(np.matmul, np.take_along_axis)

    def erf(self, x: Any) -> Any:
        from scipy.special import erf

        return erf(x)

    def astype(self, x: Any, dtype: Any) -> Any:
        with np.errstate(over="ignore"):  # values out of range become infinite
            return np.asarray(x).astype(dtype)

    def arange(self, n: int, dtype: Any) -> Any:
        return np.arange(n, dtype=dtype)

    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        return np.reshape(x, tuple(shape))

    def enlarge(self, x: Any, pads: Pads, value: float) -> Any:
        return np.pad(x, list(pads), constant_values=value)

    def sum(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return np.sum(x, axis=_axes(axis), keepdims=keepdims, dtype=x.dtype)

    def prod(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return np.prod(x, axis=_axes(axis), keepdims=keepdims, dtype=x.dtype)

    def max(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return np.max(x, axis=_axes(axis), keepdims=keepdims)

    def min(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        return np.min(x, axis=_axes(axis), keepdims=keepdims)

    def argmax(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        return np.argmax(x, axis=axis, keepdims=keepdims)

    def cumulative_sum(self, x: Any, axis: int) -> Any:
        return np.cumsum(x, axis=axis, dtype=x.dtype)

    def einsum(self, formula: str, *xs: Any) -> Any:
        return np.einsum(formula, *xs, optimize=True)

    def bitcast(self, x: Any, dtype: Any) -> Any:
        return np.asarray(x).view(dtype)

    def take(self, x: Any, indices: Any, axis: int = 0) -> Any:
        return np.take(x, indices, axis=axis)

    def nonzero(self, x: Any) -> Any:
        return np.argwhere(x)

    def scatter_add(self, x: Any, indices: Any, values: Any, axis: int) -> Any:
        out = x.copy()
        places: list[Any] = list(np.indices(indices.shape, sparse=True))
        places[axis] = indices
        np.add.at(out, tuple(places), values)
        return out

    def sort_descending(self, x: Any, axis: int) -> tuple[Any, Any]:
        # sort the reversed array, since unsigned types have no -x
        ascending = np.argsort(np.flip(x, axis), axis=axis, stable=True)
        descending = np.flip(ascending, axis)
        indices = x.shape[axis] - 1 - descending
        return np.take_along_axis(x, indices, axis), indices

    def windows(
        self,
        x: Any,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Any:
        """Return a view: nothing is copied."""
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
        axes = tuple(range(x.ndim - len(kernel), x.ndim))
        view: Any = np.lib.stride_tricks.sliding_window_view(x, tuple(spans), axes)
        steps = _every([*strides, *dilations])
        return view[..., *steps]

    def fold(
        self,
        w: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Any:
        n = len(shape)
        outer = w.shape[: -2 * n]
        counts = w.shape[-2 * n : -n]
        kernel = w.shape[-n:]
        out: Any = np.zeros((*outer, *shape), w.dtype)
        for offset in offsets(kernel):
            places = elements(offset, counts, strides, dilations)
            out[..., *places] += w[..., *offset]
        return out

    def stuff(self, x: Any, strides: Sequence[int]) -> Any:
        n = len(strides)
        outer, sizes = x.shape[:-n], x.shape[-n:]
        spatial = [(m - 1) * s + 1 for m, s in zip(sizes, strides, strict=True)]
        out: Any = np.zeros((*outer, *spatial), x.dtype)
        out[..., *_every(strides)] = x
        return out


def _axes(axis: Axis) -> tuple[int, ...] | None:
    return None if axis is None else ints(axis)


def _every(steps: Sequence[int]) -> list[slice]:
    """Slices that take every step-th element of each axis."""
    return [slice(None, None, step) for step in steps]
