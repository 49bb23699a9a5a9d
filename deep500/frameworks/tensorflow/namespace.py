"""The namespace over TensorFlow."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.dtypes import name_of
from ...namespace import (
    Axis,
    Function,
    Namespace,
    Pads,
    bind,
    crop,
    ints,
)
from . import FRAMEWORK

Tensor = Any  # tf.Tensor, which has no types
NIBBLES = {"int4", "uint4"}


def _pair(f: Callable) -> Callable:
    """f of two tensors, for one tensor and a Python number too."""

    def both(self: Namespace, x: Any, y: Any) -> Tensor:
        return f(*_alike(x, y))

    return both


def _alike(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; a Python number takes the other's dtype."""
    return (x if tf.is_tensor(x) else _number(x, y.dtype)), (
        y if tf.is_tensor(y) else _number(y, x.dtype)
    )


def _number(value: Any, dtype: Any) -> Tensor:
    """A Python number as a tensor: tf.cast would first round it to float32."""
    return tf.cast(np.asarray(value), dtype)


class TensorFlowNamespace(Namespace):
    """Arrays are tf.Tensor, with values or in a graph; shapes are always known."""

    abs, exp, log, sqrt = bind(tf.abs, tf.exp, tf.math.log, tf.sqrt)
    sin, cos, tanh, sign = bind(tf.sin, tf.cos, tf.tanh, tf.sign)
    asin, acos, atan, sinh, cosh = bind(tf.asin, tf.acos, tf.atan, tf.sinh, tf.cosh)
    expm1, log1p = bind(tf.math.expm1, tf.math.log1p)
    floor, erf, isnan, sigmoid, relu = bind(
        tf.floor, tf.math.erf, tf.math.is_nan, tf.sigmoid, tf.nn.relu
    )
    logical_not, logical_and, logical_or = bind(
        tf.logical_not, tf.logical_and, tf.logical_or
    )
    maximum, minimum, pow = _pair(tf.maximum), _pair(tf.minimum), _pair(tf.pow)
    asarray, reshape, permute_dims = bind(
        tf.convert_to_tensor, tf.reshape, tf.transpose
    )
    broadcast_to, stack, zeros_like, ones_like = bind(
        tf.broadcast_to, tf.stack, tf.zeros_like, tf.ones_like
    )

    def astype(self, x: Tensor, dtype: Any) -> Tensor:
        if {
            FRAMEWORK.dtype(name_of(dtype)),
            name_of(x.dtype),
        } & NIBBLES:  # it converts these and int32 only
            x = tf.cast(x, tf.int32)
        return tf.cast(x, dtype)

    def bitcast(self, x: Tensor, dtype: Any) -> Tensor:
        name = FRAMEWORK.dtype(name_of(dtype))
        return (
            tf.cast(x, name) if "bool" in (name, x.dtype.name) else tf.bitcast(x, name)
        )

    def fmod(self, x: Any, y: Any) -> Tensor:
        x, y = _alike(x, y)
        if (name := x.dtype.name).startswith("uint"):
            return tf.math.floormod(x, y)
        if (
            wide := {"float16": tf.float32, "int8": tf.int32, "int16": tf.int32}.get(
                name
            )
        ) is None:
            return tf.truncatemod(x, y)
        return tf.cast(tf.truncatemod(tf.cast(x, wide), tf.cast(y, wide)), x.dtype)

    def where(self, condition: Tensor, x: Any, y: Any) -> Tensor:
        return tf.where(condition, *_alike(x, y))

    def full(self, shape: Sequence[int], value: float, dtype: Any) -> Tensor:
        return tf.fill(tuple(shape), _number(value, dtype))

    def arange(self, n: int, dtype: Any) -> Tensor:
        return tf.cast(tf.range(n, dtype=tf.int64), dtype)

    def concat(self, xs: Sequence[Tensor], axis: int = 0) -> Tensor:
        return tf.concat(xs, axis)

    def flip(self, x: Tensor, axis: int | Sequence[int]) -> Tensor:
        return tf.reverse(x, ints(axis))

    def enlarge(self, x: Tensor, pads: Pads, value: float) -> Tensor:
        return tf.pad(
            x, [list(pair) for pair in pads], constant_values=_number(value, x.dtype)
        )

    def sum(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_sum(x, _axes(axis), keepdims)

    def prod(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_prod(x, _axes(axis), keepdims)

    def max(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_max(x, _axes(axis), keepdims)

    def min(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_min(x, _axes(axis), keepdims)

    def argmax(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        found = tf.argmax(x, axis)
        return tf.expand_dims(found, axis) if keepdims else found

    def cumulative_sum(self, x: Tensor, axis: int) -> Tensor:
        return tf.cumsum(x, axis)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """tf.matmul takes no vectors."""
        dropped = (-2,) * (x.ndim == 1) + (-1,) * (y.ndim == 1)
        both = tf.matmul(
            x[None] if x.ndim == 1 else x, y[:, None] if y.ndim == 1 else y
        )
        return tf.squeeze(both, dropped) if dropped else both

    def einsum(self, formula: str, *xs: Tensor) -> Tensor:
        """tf.einsum does not stretch an axis of length 1, but an operand may go without it."""
        terms, arrow, result = formula.replace(" ", "").partition("->")
        named = [
            list(zip(term, x.shape, strict=True))
            for term, x in zip(terms.split(","), xs, strict=True)
        ]
        long = {label for axes in named for label, n in axes if n != 1}
        gone = [
            [i for i, (label, n) in enumerate(axes) if n == 1 and label in long]
            for axes in named
        ]
        terms = ",".join(
            "".join(label for i, (label, _) in enumerate(axes) if i not in out)
            for axes, out in zip(named, gone, strict=True)
        )
        return tf.einsum(
            terms + arrow + result,
            *(
                tf.squeeze(x, out) if out else x
                for x, out in zip(xs, gone, strict=True)
            ),
        )

    def take(self, x: Tensor, indices: Tensor, axis: int = 0) -> Tensor:
        return tf.gather(x, indices, axis=axis)

    def take_along_axis(self, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        return tf.gather_nd(x, _places(indices, axis))

    def nonzero(self, x: Tensor) -> Tensor:
        return tf.where(x)

    def scatter_add(
        self, x: Tensor, indices: Tensor, values: Tensor, axis: int
    ) -> Tensor:
        return tf.tensor_scatter_nd_add(x, _places(indices, axis), values)

    def sort_descending(self, x: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        indices = tf.cast(tf.argsort(x, axis, "DESCENDING", stable=True), tf.int64)
        return self.take_along_axis(x, indices, axis), indices

    def conv(
        self,
        x: Tensor,
        w: Tensor,
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        if len(strides) != 2:
            return super().conv(x, w, strides, pads, dilations, groups)
        x = self.pad(x, [(0, 0), (0, 0), *pads])
        return _channels_second(
            tf.nn.conv2d(
                _channels_last(x),
                _kernels_first(w),
                strides,
                "VALID",
                dilations=dilations,
            )
        )

    def conv_transpose(
        self,
        y: Tensor,
        w: Tensor,
        shape: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        if not _has_gradient(dilations, groups):
            return super().conv_transpose(y, w, shape, strides, pads, dilations, groups)
        padded = [size + lo + hi for size, (lo, hi) in zip(shape, pads, strict=True)]
        x = tf.raw_ops.Conv2DBackpropInput(
            input_sizes=(y.shape[0], *padded, w.shape[1]),
            filter=_kernels_first(w),
            out_backprop=_channels_last(y),
            strides=[1, *strides, 1],
            padding="VALID",
        )
        return crop(_channels_second(x), shape, pads)

    def conv_weight(
        self,
        x: Tensor,
        y: Tensor,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Tensor:
        if not _has_gradient(dilations, groups):
            return super().conv_weight(x, y, kernel, strides, pads, dilations, groups)
        x = self.pad(x, [(0, 0), (0, 0), *pads])
        w = tf.raw_ops.Conv2DBackpropFilter(
            input=_channels_last(x),
            filter_sizes=(*kernel, x.shape[1], y.shape[1]),
            out_backprop=_channels_last(y),
            strides=[1, *strides, 1],
            padding="VALID",
        )
        return tf.transpose(w, (3, 2, 0, 1))

    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        if tf.executing_eagerly():
            return super().scan(f, carry, xs, length)
        carry, first = f(
            carry, tuple(x[0] for x in xs)
        )  # which says what the rows are like
        rows = tuple(
            tf.TensorArray(y.dtype, length, element_shape=y.shape).write(0, y)
            for y in first
        )

        def body(t: Tensor, carry: tuple, rows: tuple) -> tuple:
            carry, ys = f(carry, tuple(x[t] for x in xs))
            return (
                t + 1,
                carry,
                tuple(row.write(t, y) for row, y in zip(rows, ys, strict=True)),
            )

        _, carry, rows = tf.while_loop(lambda t, *_: t < length, body, (1, carry, rows))
        return carry, tuple(row.stack() for row in rows)

    def cond(
        self, condition: Tensor, yes: Function, no: Function, *args: Any
    ) -> Tensor:
        return tf.cond(condition, lambda: yes(*args), lambda: no(*args))

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        return tf.while_loop(condition, body, state)

    def require(self, condition: Tensor, message: str, x: Tensor) -> Tensor:
        with tf.control_dependencies([tf.debugging.Assert(condition, [message])]):
            return tf.identity(x)

    def shift_left(self, x: Tensor, by: Tensor | int) -> Tensor:
        return tf.bitwise.left_shift(x, tf.cast(by, x.dtype))

    def shift_right(self, x: Tensor, by: Tensor | int) -> Tensor:
        return tf.bitwise.right_shift(x, tf.cast(by, x.dtype))

    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Tensor
    ) -> list[Tensor]:
        """Called back from the graph, which knows the shapes; one of None is found when it runs."""
        if (
            tf.executing_eagerly()
        ):  # there is nothing to call back from, and numpy_function would copy
            return [
                tf.convert_to_tensor(y) for y in function(*(x.__array__() for x in xs))
            ]
        made = tf.numpy_function(
            lambda *arrays: list(function(*arrays)), xs, [kind.dtype for kind in kinds]
        )
        results = made if isinstance(made, list) else [made]
        return [
            tf.ensure_shape(y, kind.shape)
            for y, kind in zip(results, kinds, strict=True)
        ]


def _axes(axis: Axis) -> tuple[int, ...] | None:
    return None if axis is None else ints(axis)


def _places(indices: Tensor, axis: int) -> Tensor:
    """The whole place of every element in an array of which these are the indices along one axis."""
    mesh = list(
        tf.meshgrid(
            *(tf.range(n, dtype=indices.dtype) for n in indices.shape), indexing="ij"
        )
    )
    mesh[axis] = indices
    return tf.stack(mesh, -1)


def _has_gradient(dilations: Sequence[int], groups: int) -> bool:
    """Whether TensorFlow can differentiate such a convolution on the CPU."""
    return len(dilations) == 2 and groups == 1 and all(d == 1 for d in dilations)


def _channels_last(x: Tensor) -> Tensor:
    """As TensorFlow's convolutions on the CPU want it."""
    return tf.transpose(x, (0, 2, 3, 1))


def _channels_second(x: Tensor) -> Tensor:
    return tf.transpose(x, (0, 3, 1, 2))


def _kernels_first(w: Tensor) -> Tensor:
    return tf.transpose(w, (2, 3, 1, 0))
