"""The namespace of array functions over JAX."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from ...errors import Deep500Error
from ...namespace import (
    Axis,
    Function,
    Namespace,
    Pads,
    bind,
    ints,
)
from .foreign import call_python


class JaxNamespace(Namespace):
    """Arrays are jax.Array, or tracers while a function is compiled."""

    abs, exp, log, sqrt = bind(jnp.abs, jnp.exp, jnp.log, jnp.sqrt)
    sin, cos, tanh, sign = bind(jnp.sin, jnp.cos, jnp.tanh, jnp.sign)
    asin, acos, atan, sinh, cosh = bind(
        jnp.asin, jnp.acos, jnp.atan, jnp.sinh, jnp.cosh
    )
    expm1, log1p, fmod = bind(jnp.expm1, jnp.log1p, jnp.fmod)
    floor, erf, isnan, sigmoid = bind(jnp.floor, lax.erf, jnp.isnan, jax.nn.sigmoid)
    logical_not, logical_and, logical_or = bind(
        jnp.logical_not, jnp.logical_and, jnp.logical_or
    )
    maximum, minimum, pow, where = bind(jnp.maximum, jnp.minimum, jnp.power, jnp.where)
    asarray, full, broadcast_to, permute_dims = bind(
        jnp.asarray, jnp.full, jnp.broadcast_to, jnp.permute_dims
    )
    flip, matmul, einsum, argmax = bind(jnp.flip, jnp.matmul, jnp.einsum, jnp.argmax)
    take_along_axis, zeros_like, ones_like = bind(
        jnp.take_along_axis, jnp.zeros_like, jnp.ones_like
    )

    def astype(self, x: Array, dtype: Any) -> Array:
        return x.astype(dtype)

    def bitcast(self, x: Array, dtype: Any) -> Array:
        return x.view(dtype)

    def arange(self, n: int, dtype: Any) -> Array:
        return jnp.arange(n, dtype=dtype)

    def reshape(self, x: Array, shape: Sequence[int]) -> Array:
        return jnp.reshape(x, tuple(shape))

    def concat(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return jnp.concatenate(xs, axis)

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return jnp.stack(xs, axis)

    def enlarge(self, x: Array, pads: Pads, value: float) -> Array:
        padding = [(lo, hi, 0) for lo, hi in pads]
        return lax.pad(x, jnp.asarray(value, x.dtype), padding)

    def stuff(self, x: Array, strides: Sequence[int]) -> Array:
        outer = x.ndim - len(strides)
        gaps = [0] * outer + [stride - 1 for stride in strides]
        padding = [(0, 0, gap) for gap in gaps]
        return lax.pad(x, jnp.asarray(0, x.dtype), padding)

    def sum(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return jnp.sum(x, axis=_axes(axis), keepdims=keepdims, dtype=x.dtype)

    def prod(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return jnp.prod(x, axis=_axes(axis), keepdims=keepdims, dtype=x.dtype)

    def max(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return jnp.max(x, axis=_axes(axis), keepdims=keepdims)

    def min(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return jnp.min(x, axis=_axes(axis), keepdims=keepdims)

    def cumulative_sum(self, x: Array, axis: int) -> Array:
        return jnp.cumsum(x, axis=axis, dtype=x.dtype)

    def take(self, x: Array, indices: Array, axis: int = 0) -> Array:
        return jnp.take(x, indices, axis)

    def scatter_add(self, x: Array, indices: Array, values: Array, axis: int) -> Array:
        places: list[Any] = list(jnp.indices(indices.shape, sparse=True))
        places[axis] = indices
        return x.at[tuple(places)].add(values)

    def sort_descending(self, x: Array, axis: int) -> tuple[Array, Array]:
        indices = jnp.argsort(x, axis=axis, descending=True, stable=True)
        return jnp.take_along_axis(x, indices, axis), indices

    def conv(
        self,
        x: Array,
        w: Array,
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Array:
        return lax.conv_general_dilated(
            x,
            w,
            strides,
            pads,
            rhs_dilation=dilations,
            feature_group_count=groups,
        )

    def conv_transpose(
        self,
        y: Array,
        w: Array,
        shape: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Array:
        """Return a convolution of y, spread out by the strides, with the flipped kernels."""
        features, channels, *kernel = w.shape
        group_size = features // groups
        flipped_axes = range(3, w.ndim + 1)
        w = w.reshape(groups, group_size, channels, *kernel)
        w = jnp.flip(w, flipped_axes)
        w = jnp.swapaxes(w, 1, 2)
        w = w.reshape(groups * channels, group_size, *kernel)
        around = []
        axes = zip(dilations, kernel, pads, shape, y.shape[2:], strides, strict=True)
        for d, k, (lo, _), size, m, s in axes:
            before = d * (k - 1) - lo
            after = size + lo - 1 - (m - 1) * s
            around.append((before, after))
        ones = [1] * len(kernel)
        return lax.conv_general_dilated(
            y, w, ones, around, strides, dilations, feature_group_count=groups
        )

    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        return lax.scan(f, carry, xs, length)

    def cond(self, condition: Array, yes: Function, no: Function, *args: Any) -> Array:
        return lax.cond(condition, yes, no, *args)

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        return lax.while_loop(lambda s: condition(*s), lambda s: tuple(body(*s)), state)

    def require(self, condition: Array, message: str, x: Array) -> Array:
        """Return x; the condition is checked in Python, since compiled code cannot raise."""

        def passed(holds: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
            if not holds:
                raise Deep500Error(message)
            return [value]

        (result,) = self.host(passed, [x], condition, x)
        return result

    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Array
    ) -> Sequence[Array]:
        """Return the function's results; compiled code calls it back, under vmap once per example of the batch."""
        return call_python(function, kinds, xs)


def _axes(axis: Axis) -> tuple[int, ...] | None:
    return None if axis is None else ints(axis)
