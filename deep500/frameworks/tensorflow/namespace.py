"""The namespace of array functions over TensorFlow."""

from collections.abc import Callable, Collection, Sequence
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
# The dtypes in which remainders are computed that TensorFlow has no kernel for.
WIDE = {"float16": tf.float32, "int8": tf.int32, "int16": tf.int32}


def _pair(f: Callable) -> Callable:
    """A function of two tensors as one that takes a Python number in place of either."""

    def both(self: Namespace, x: Any, y: Any) -> Tensor:
        return f(*_alike(x, y))

    return both


def _alike(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; a Python number takes the other's dtype."""
    x_tensor = x if tf.is_tensor(x) else _number(x, y.dtype)
    y_tensor = y if tf.is_tensor(y) else _number(y, x.dtype)
    return x_tensor, y_tensor


def _number(value: Any, dtype: Any) -> Tensor:
    """A Python number as a tensor; tf.cast of the number itself would first round it to float32."""
    return tf.cast(np.asarray(value), dtype)


class TensorFlowNamespace(Namespace):
    """Arrays are tf.Tensor, eager or in a graph; shapes are always known."""

    calls_back = True

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
        target = FRAMEWORK.dtype(name_of(dtype))
        if target in NIBBLES or name_of(x.dtype) in NIBBLES:
            # the only dtype that these are converted to
            x = tf.cast(x, tf.int32)
        return tf.cast(x, dtype)

    def bitcast(self, x: Tensor, dtype: Any) -> Tensor:
        name = FRAMEWORK.dtype(name_of(dtype))
        if "bool" in (name, x.dtype.name):
            return tf.cast(x, name)
        return tf.bitcast(x, name)

    def fmod(self, x: Any, y: Any) -> Tensor:
        x, y = _alike(x, y)
        name = x.dtype.name
        if name.startswith("uint"):
            return tf.math.floormod(x, y)
        if name not in WIDE:
            return tf.truncatemod(x, y)
        wide_x = tf.cast(x, WIDE[name])
        wide_y = tf.cast(y, WIDE[name])
        remainder = tf.truncatemod(wide_x, wide_y)
        return tf.cast(remainder, x.dtype)

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
        padding = [list(pair) for pair in pads]
        return tf.pad(x, padding, constant_values=_number(value, x.dtype))

    def sum(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_sum(x, _axes(axis), keepdims)

    def prod(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_prod(x, _axes(axis), keepdims)

    def max(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_max(x, _axes(axis), keepdims)

    def min(self, x: Tensor, axis: Axis = None, keepdims: bool = False) -> Tensor:
        return tf.reduce_min(x, _axes(axis), keepdims)

    def argmax(self, x: Tensor, axis: int, keepdims: bool = False) -> Tensor:
        indices = tf.argmax(x, axis)
        if keepdims:
            return tf.expand_dims(indices, axis)
        return indices

    def cumulative_sum(self, x: Tensor, axis: int) -> Tensor:
        return tf.cumsum(x, axis)

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the product of matrices or vectors; tf.matmul takes no vectors."""
        added = []
        if x.ndim == 1:
            x = x[None]
            added.append(-2)
        if y.ndim == 1:
            y = y[:, None]
            added.append(-1)
        product = tf.matmul(x, y)
        if not added:
            return product
        return tf.squeeze(product, added)

    def einsum(self, formula: str, *xs: Tensor) -> Tensor:
        """Return the sum of products; axes of length 1 are dropped, since tf.einsum does not broadcast them."""
        inputs, arrow, result = formula.replace(" ", "").partition("->")
        terms = inputs.split(",")
        long = set()  # the axes that are longer than 1 in some operand
        for term, x in zip(terms, xs, strict=True):
            for label, size in zip(term, x.shape, strict=True):
                if size != 1:
                    long.add(label)
        operands = []
        for i, x in enumerate(xs):
            terms[i], operand = _without_broadcast(terms[i], x, long)
            operands.append(operand)
        inputs = ",".join(terms)
        return tf.einsum(inputs + arrow + result, *operands)

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
        order = tf.argsort(x, axis, "DESCENDING", stable=True)
        indices = tf.cast(order, tf.int64)
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
        images = _channels_last(x)
        kernels = _kernels_first(w)
        y = tf.nn.conv2d(images, kernels, strides, "VALID", dilations=dilations)
        return _channels_second(y)

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
        batch, channels = y.shape[0], w.shape[1]
        x = tf.raw_ops.Conv2DBackpropInput(
            input_sizes=(batch, *padded, channels),
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
        channels, features = x.shape[1], y.shape[1]
        w = tf.raw_ops.Conv2DBackpropFilter(
            input=_channels_last(x),
            filter_sizes=(*kernel, channels, features),
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
        # the first round shows the shapes and dtypes of the rows
        first_rows = tuple([x[0] for x in xs])
        carry, first = f(carry, first_rows)
        arrays = []
        for y in first:
            array = tf.TensorArray(y.dtype, length, element_shape=y.shape)
            arrays.append(array.write(0, y))

        def body(t: Tensor, carry: tuple, arrays: tuple) -> tuple:
            rows = tuple([x[t] for x in xs])
            carry, ys = f(carry, rows)
            written = []
            for array, y in zip(arrays, ys, strict=True):
                written.append(array.write(t, y))
            return t + 1, carry, tuple(written)

        start = (1, carry, tuple(arrays))
        _, carry, filled = tf.while_loop(lambda t, *_: t < length, body, start)
        return carry, tuple([array.stack() for array in filled])

    def cond(
        self, condition: Tensor, yes: Function, no: Function, *args: Any
    ) -> Tensor:
        return tf.cond(condition, lambda: yes(*args), lambda: no(*args))

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        return tf.while_loop(condition, body, state)

    def require(self, condition: Tensor, message: str, x: Tensor) -> Tensor:
        check = tf.debugging.Assert(condition, [message])
        with tf.control_dependencies([check]):
            return tf.identity(x)

    def shift_left(self, x: Tensor, by: Tensor | int) -> Tensor:
        return tf.bitwise.left_shift(x, tf.cast(by, x.dtype))

    def shift_right(self, x: Tensor, by: Tensor | int) -> Tensor:
        return tf.bitwise.right_shift(x, tf.cast(by, x.dtype))

    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Tensor
    ) -> list[Tensor]:
        """Return the function's results, which have the shapes of `kinds`; sizes that are None are known at run time.

        A graph calls the function back; eagerly it is called directly, where numpy_function would copy.
        """
        if tf.executing_eagerly():
            arrays = [x.__array__() for x in xs]
            return [tf.convert_to_tensor(y) for y in function(*arrays)]
        dtypes = [kind.dtype for kind in kinds]
        results = tf.numpy_function(lambda *arrays: list(function(*arrays)), xs, dtypes)
        if not isinstance(results, list):
            results = [results]
        shaped = []
        for result, kind in zip(results, kinds, strict=True):
            shaped.append(tf.ensure_shape(result, kind.shape))
        return shaped


def _without_broadcast(
    term: str, x: Tensor, long: Collection[str]
) -> tuple[str, Tensor]:
    """A term of an einsum and its operand, without axes of length 1 that are longer in other operands."""
    labels, dropped = [], []
    for i, label in enumerate(term):
        if x.shape[i] == 1 and label in long:
            dropped.append(i)
        else:
            labels.append(label)
    if dropped:
        x = tf.squeeze(x, dropped)
    return "".join(labels), x


def _axes(axis: Axis) -> tuple[int, ...] | None:
    if axis is None:
        return None
    return ints(axis)


def _places(indices: Tensor, axis: int) -> Tensor:
    """The full index of every element, from the indices along one axis."""
    ranges = [tf.range(n, dtype=indices.dtype) for n in indices.shape]
    mesh = [*tf.meshgrid(*ranges, indexing="ij")]
    mesh[axis] = indices
    return tf.stack(mesh, -1)


def _has_gradient(dilations: Sequence[int], groups: int) -> bool:
    """Whether TensorFlow can differentiate such a convolution on the CPU."""
    return tuple(dilations) == (1, 1) and groups == 1


def _channels_last(x: Tensor) -> Tensor:
    """The order of axes that TensorFlow's convolutions on the CPU need."""
    return tf.transpose(x, (0, 2, 3, 1))


def _channels_second(x: Tensor) -> Tensor:
    return tf.transpose(x, (0, 3, 1, 2))


def _kernels_first(w: Tensor) -> Tensor:
    return tf.transpose(w, (2, 3, 1, 0))
