"""The functions that a formula may use: the core that every adapter binds, and what follows from it.

Besides these a formula uses operators (+ - * / ** @, comparisons, // % & | ~ of integers, & | of booleans), basic
slicing with positive steps, `shape`, `dtype` and `ndim`. A dtype is a string ("float32") or an array's `dtype`.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .errors import Deep500Error, Unsupported

Array = Any  # a native array
Axis = int | Sequence[int] | None
Function = Callable[..., Any]
Pads = Sequence[tuple[int, int]]  # (before, after) for every axis


class Namespace:
    """An adapter binds the core and overrides what its framework does faster; the rest is right on every adapter."""

    # -- the core, elementwise
    abs: Function  # (x)
    exp: Function  # (x)
    log: Function  # (x) natural
    sqrt: Function  # (x)
    sin: Function  # (x)
    cos: Function  # (x)
    tanh: Function  # (x)
    asin: Function  # (x)
    acos: Function  # (x)
    atan: Function  # (x)
    sign: Function  # (x) -1, 0 or 1
    floor: Function  # (x)
    erf: Function  # (x) the error function
    isnan: Function  # (x) boolean
    logical_not: Function  # (x) of booleans
    logical_and: Function  # (x, y) of booleans
    logical_or: Function  # (x, y) of booleans
    maximum: Function  # (x, y) one of them may be a Python number
    minimum: Function  # (x, y) one of them may be a Python number
    pow: Function  # (x, y)
    fmod: Function  # (x, y) the remainder of x / y, with the sign of x
    where: Function  # (condition, x, y) one of x and y may be a Python number
    astype: Function  # (x, dtype)
    bitcast: Function  # (x, dtype) the same bits, as a dtype of the same width
    # -- the core, creation and shape
    asarray: Function  # (value, dtype) from Python numbers, nested or not
    full: Function  # (shape, value, dtype)
    arange: Function  # (n, dtype) 0 … n - 1
    reshape: Function  # (x, shape) one -1 is worked out
    permute_dims: Function  # (x, axes)
    broadcast_to: Function  # (x, shape)
    concat: Function  # (xs, axis=0)
    flip: Function  # (x, axis)
    enlarge: (
        Function  # (x, pads, value) constant padding of every axis, no amount negative
    )
    # -- the core, reductions: axis is None (all), a number or some numbers
    sum: Function  # (x, axis=None, keepdims=False) in x's dtype
    prod: Function  # (x, axis=None, keepdims=False) in x's dtype
    max: Function  # (x, axis=None, keepdims=False)
    min: Function  # (x, axis=None, keepdims=False)
    argmax: (
        Function  # (x, axis, keepdims=False) int64, the first where several are largest
    )
    cumulative_sum: Function  # (x, axis)
    # -- the core, products and indexing; indices are int64 and not negative
    matmul: Function  # (x, y) as @
    einsum: Function  # (formula, *xs)
    take: Function  # (x, indices, axis=0) indices of any shape
    take_along_axis: (
        Function  # (x, indices, axis) indices shaped as x but along the axis
    )
    scatter_add: Function  # (x, indices, values, axis) x with values added; repeated indices add up
    sort_descending: Function  # (x, axis) -> (sorted, int64 indices), stable

    def __init_subclass__(cls) -> None:
        if missing := [
            name for name in Namespace.__annotations__ if name not in dir(cls)
        ]:
            raise TypeError(
                f"{cls.__name__} does not bind {', '.join(missing)}; every adapter binds the whole core"
            )

    # -- elementwise and reductions
    def square(self, x: Array) -> Array:
        return x * x

    def reciprocal(self, x: Array) -> Array:
        return 1 / x

    def expm1(self, x: Array) -> Array:
        """exp(x) - 1, exact near 0 too: what rounding took from exp(x) is in its logarithm again."""
        e = self.exp(x)
        plain = (e == 1) | (self.abs(x) > 1)  # where nothing cancels, or everything has
        return self.where(
            plain,
            self.where(e == 1, x, e - 1),
            (e - 1) * (x / self.log(self.where(plain, 2, e))),
        )

    def log1p(self, x: Array) -> Array:
        """log(1 + x), exact near 0 too: log(u) / (u - 1) hardly changes over what rounding took from u."""
        u = 1 + x
        plain = (u == 1) | (u > 2)
        return self.where(
            plain,
            self.where(u == 1, x, self.log(u)),
            self.log(u) * (x / self.where(plain, 1, u - 1)),
        )

    def sinh(self, x: Array) -> Array:
        e = self.expm1(self.abs(x))
        return 0.5 * self.sign(x) * (e + e / (e + 1))

    def cosh(self, x: Array) -> Array:
        e = self.exp(self.abs(x))
        return 0.5 * (e + 1 / e)

    def sigmoid(self, x: Array) -> Array:
        return 0.5 * self.tanh(0.5 * x) + 0.5  # never overflows

    def relu(self, x: Array) -> Array:
        return self.maximum(x, 0)

    def clip(
        self, x: Array, low: Array | None = None, high: Array | None = None
    ) -> Array:
        x = x if low is None else self.maximum(x, low)
        return x if high is None else self.minimum(x, high)

    def mean(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return self.sum(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)

    def logsumexp(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        largest = self.max(x, axis=axis, keepdims=True)
        largest = self.where(
            self.abs(largest) < math.inf, largest, 0
        )  # or infinities cancel to NaN
        total = largest + self.log(
            self.sum(self.exp(x - largest), axis=axis, keepdims=True)
        )
        return (
            total
            if keepdims
            else self.squeeze(total, range(x.ndim) if axis is None else axis)
        )

    # -- creation and shape
    def zeros(self, shape: Sequence[int], dtype: Any) -> Array:
        return self.full(shape, 0, dtype)

    def zeros_like(self, x: Array) -> Array:
        return self.full(x.shape, 0, x.dtype)

    def ones_like(self, x: Array) -> Array:
        return self.full(x.shape, 1, x.dtype)

    def expand_dims(self, x: Array, axis: int | Iterable[int]) -> Array:
        """New axes of length 1; `axis` counts in the result."""
        rank = x.ndim + len(ints(axis))
        new = {a % rank for a in ints(axis)}
        dims = iter(x.shape)
        return self.reshape(
            x, tuple(1 if i in new else next(dims) for i in range(rank))
        )

    def squeeze(self, x: Array, axis: int | Iterable[int] | None = None) -> Array:
        """Without these axes of length 1; without all such axes when none is named."""
        gone = (
            {i for i, n in enumerate(x.shape) if n == 1}
            if axis is None
            else {a % x.ndim for a in ints(axis)}
        )
        return self.reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in gone))

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return self.concat([self.expand_dims(x, axis) for x in xs], axis=axis)

    def split(self, x: Array, sizes: Sequence[int], axis: int = 0) -> list[Array]:
        ends = itertools.accumulate(sizes)
        return [
            slice_axis(x, axis, end - size, end)
            for end, size in zip(ends, sizes, strict=True)
        ]

    def one_hot(self, indices: Array, n: int, dtype: Any) -> Array:
        """A new last axis of length n: 1 at the index, 0 elsewhere; all 0 for an index outside."""
        return self.astype(
            self.expand_dims(indices, -1) == self.arange(n, indices.dtype), dtype
        )

    def pad(self, x: Array, pads: Pads, value: float = 0) -> Array:
        """Constant padding of every axis; a negative amount crops."""
        if any(p < 0 for pair in pads for p in pair):
            x = x[
                tuple(
                    slice(max(0, -lo), n - max(0, -hi))
                    for n, (lo, hi) in zip(x.shape, pads, strict=True)
                )
            ]
            pads = [(max(0, lo), max(0, hi)) for lo, hi in pads]
        return self.enlarge(x, pads, value) if any(map(any, pads)) else x

    def nonzero(self, x: Array) -> Array:
        """(n, rank) int64: the places of what is not 0 or False, in order. Compiled programs have fixed shapes."""
        raise Unsupported(
            "how many elements come out depends on their values, which a program compiled for fixed "
            "shapes cannot do: run it on reference, pytorch or tensorflow"
        )

    def unbroadcast(self, g: Array, shape: Sequence[int]) -> Array:
        """The adjoint of broadcasting an array of this shape to g's: sum over the axes that were stretched."""
        if tuple(g.shape) == tuple(shape):
            return g
        lead = g.ndim - len(shape)
        stretched = [i for i, n in enumerate(shape, lead) if n == 1 and g.shape[i] != 1]
        axes = (*range(lead), *stretched)
        return self.reshape(self.sum(g, axis=axes) if axes else g, tuple(shape))

    # -- windows over the last axes, and convolutions made of them
    def windows(
        self,
        x: Array,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Array:
        """(..., *counts, *kernel): every window of the last len(kernel) axes."""
        counts = window_counts(x.shape[-len(kernel) :], kernel, strides, dilations)
        if math.prod(kernel) > 64:  # or a compiler sees thousands of slices
            return self._taken_windows(x, counts, kernel, strides, dilations)
        parts = [
            x[(..., *elements(at, counts, strides, dilations))]
            for at in offsets(kernel)
        ]
        stacked = self.stack(parts, axis=-1)
        return self.reshape(stacked, (*stacked.shape[:-1], *kernel))

    def _taken_windows(
        self,
        x: Array,
        counts: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Array:
        """The same by indices, one axis after the other."""
        import numpy as np  # some engines take minutes for millions of numbers in lists

        first, n = x.ndim - len(kernel), len(kernel)
        for axis, (count, k, stride, dilation) in enumerate(
            zip(counts, kernel, strides, dilations, strict=True)
        ):
            starts = np.arange(count, dtype=np.int64) * stride
            places = starts[:, None] + np.arange(k, dtype=np.int64) * dilation
            x = self.take(x, self.asarray(places, "int64"), axis=first + 2 * axis)
        order = (
            *range(first),
            *range(first, first + 2 * n, 2),
            *range(first + 1, first + 2 * n, 2),
        )
        return self.permute_dims(x, order)

    def fold(
        self,
        w: Array,
        shape: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Array:
        """The adjoint of windows: every window added back to its place in an array of spatial `shape`."""
        n = len(shape)
        total = None
        for at in offsets(w.shape[-n:]):
            part = self.stuff(w[(..., *at)], strides)
            starts = [i * d for i, d in zip(at, dilations, strict=True)]
            ends = [
                size - lo - m
                for size, lo, m in zip(shape, starts, part.shape[-n:], strict=True)
            ]
            part = self.pad(
                part, [(0, 0)] * (part.ndim - n) + list(zip(starts, ends, strict=True))
            )
            total = part if total is None else total + part
        return total

    def stuff(self, x: Array, strides: Sequence[int]) -> Array:
        """The last axes with stride - 1 zeros between neighbours."""
        for axis, stride in enumerate(strides, x.ndim - len(strides)):
            if stride > 1:
                wide = [(0, 0)] * (x.ndim + 1)
                wide[axis + 1] = (0, stride - 1)
                y = self.pad(self.expand_dims(x, axis + 1), wide)
                y = self.reshape(
                    y, (*x.shape[:axis], x.shape[axis] * stride, *x.shape[axis + 1 :])
                )
                x = slice_axis(y, axis, 0, y.shape[axis] - (stride - 1))
        return x

    def conv(
        self,
        x: Array,
        w: Array,
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Array:
        """ONNX's Conv of x (batch, channels, *spatial) with w (features, channels / groups, *kernel)."""
        n = w.ndim - 2
        v = self.windows(
            self.pad(x, [(0, 0), (0, 0), *pads]), w.shape[2:], strides, dilations
        )
        counts = v.shape[2 : 2 + n]
        v = self.permute_dims(v, (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))
        v = self.reshape(
            v, (x.shape[0], groups, math.prod(w.shape[1:]), math.prod(counts))
        )
        y = self.matmul(
            self.reshape(w, (groups, w.shape[0] // groups, math.prod(w.shape[1:]))), v
        )
        return self.reshape(y, (x.shape[0], w.shape[0], *counts))

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
        """The adjoint of conv in x, whose spatial shape is `shape`."""
        n, counts = w.ndim - 2, y.shape[2:]
        y = self.reshape(
            y, (y.shape[0], groups, w.shape[0] // groups, math.prod(counts))
        )
        w_t = self.permute_dims(
            self.reshape(w, (groups, w.shape[0] // groups, math.prod(w.shape[1:]))),
            (0, 2, 1),
        )
        v = self.reshape(
            self.matmul(w_t, y),
            (y.shape[0], groups * w.shape[1], *w.shape[2:], *counts),
        )
        v = self.permute_dims(v, (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)))
        padded = [size + lo + hi for size, (lo, hi) in zip(shape, pads, strict=True)]
        return crop(self.fold(v, padded, strides, dilations), shape, pads)

    def conv_weight(
        self,
        x: Array,
        y: Array,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Array:
        """The adjoint of conv in w, whose spatial shape is `kernel`: a conv with batch and channels exchanged."""
        batch, channels = x.shape[:2]
        x = self.reshape(x, (batch, groups, channels // groups, *x.shape[2:]))
        x = self.permute_dims(x, (2, 1, 0, *range(3, x.ndim)))
        x = self.reshape(x, (channels // groups, groups * batch, *x.shape[3:]))
        y = self.permute_dims(y, (1, 0, *range(2, y.ndim)))
        w = self.conv(x, y, dilations, pads, strides, groups)
        w = w[
            (..., *(slice(0, k) for k in kernel))
        ]  # strides that do not divide leave windows over
        return self.permute_dims(w, (1, 0, *range(2, w.ndim)))

    # -- control flow, at once unless an adapter records it
    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        """carry, ys = f(carry, x at t) for every t along axis 0 of the arrays xs; the ys are stacked."""
        rows = []
        for t in range(length):
            carry, y = f(carry, tuple(x[t] for x in xs))
            rows.append(y)
        return carry, tuple(self.stack(list(y)) for y in zip(*rows, strict=True))

    def cond(self, condition: Array, yes: Function, no: Function, *args: Any) -> Array:
        """yes(*args) where the scalar holds, no(*args) otherwise; both give one array, or a tuple, of like shapes."""
        return yes(*args) if bool(condition) else no(*args)

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        """state = body(*state) as long as condition(*state), a scalar, holds; the arrays keep their shapes."""
        while bool(condition(*state)):
            state = body(*state)
        return state

    def require(self, condition: Array, message: str, x: Array) -> Array:
        """x, if the scalar holds; otherwise an error, which says the message where the framework can."""
        if not bool(condition):
            raise Deep500Error(message)
        return x

    # -- counter-based random numbers
    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Array
    ) -> Sequence[Array]:
        """The results of a function of NumPy arrays, which have these shapes and dtypes; nothing is differentiated."""
        return function(*xs)

    def uniform(self, key: Array, shape: Sequence[int]) -> Array:
        """float32 in [0, 1): a pure function of the key and the shape, bit-identical on every framework.

        The key is four whole numbers: two words, the number of the first example and the count of examples. An element
        is drawn by its row in the whole batch and its place in the row.
        """
        key = self.astype(key, "int64")
        rows, width = (shape[0] if shape else 1), math.prod(shape[1:])
        half = (width + 1) // 2
        row = self.reshape(
            self.arange(rows, "int64") + key[2] * rows // key[3], (rows, 1)
        )
        place = self.reshape(self.arange(half, "int64"), (1, half))
        zeros = self.zeros((rows, half), "int64")
        bits = self.concat(self.threefry(key, row + zeros, place + zeros), axis=1)[
            :, :width
        ]
        numbers = self.astype(self.shift_right(bits, 8), "float32") * 2.0**-24
        return self.reshape(numbers, tuple(shape))

    def threefry(self, key: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Threefry-2x32 with 20 rounds of the counters (a, b): 32-bit words held in int64."""
        k0, k1 = key[0], key[1]
        keys = (k0, k1, self.xor(self.xor(k0, k1), self.asarray(0x1BD11BDA, "int64")))
        a, b = self.mask32(a + k0), self.mask32(b + k1)
        for i in range(5):
            for by in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
                a = self.mask32(a + b)
                b = self.xor(self.rotate_left(b, by), a)
            a = self.mask32(a + keys[(i + 1) % 3])
            b = self.mask32(b + keys[(i + 2) % 3] + (i + 1))
        return a, b

    def mask32(self, x: Array) -> Array:
        return x & 0xFFFFFFFF

    def xor(self, x: Array, y: Array) -> Array:
        return x ^ y

    def shift_left(self, x: Array, by: Array | int) -> Array:
        return x << by

    def shift_right(self, x: Array, by: Array | int) -> Array:
        return x >> by

    def rotate_left(self, x: Array, by: int) -> Array:
        return self.mask32(self.shift_left(x, by)) | self.shift_right(x, 32 - by)


def bind(*functions: Any) -> tuple[Any, ...]:
    """A framework's own functions as members of its namespace."""
    return tuple(map(staticmethod, functions))


def kind(x: Any) -> str:
    """What the elements of an array (or of a Tensor) are: "float", "int", "uint" or "bool"."""
    return next(
        name for name in ("float", "uint", "int", "bool") if name in str(x.dtype)
    )


def ints(axis: int | Iterable[int]) -> tuple[int, ...]:
    """One axis or several, always as a tuple."""
    return (axis,) if isinstance(axis, int) else tuple(axis)


def count(shape: Sequence[int], axis: Axis = None) -> int:
    """How many elements a reduction over these axes takes together."""
    return math.prod(shape) if axis is None else math.prod(shape[a] for a in ints(axis))


def slice_axis(x: Array, axis: int, start: int, stop: int) -> Array:
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, stop),)]


def crop(x: Array, shape: Sequence[int], pads: Pads) -> Array:
    """The last axes without their padding."""
    return x[
        (
            ...,
            *(slice(lo, lo + size) for size, (lo, _) in zip(shape, pads, strict=True)),
        )
    ]


def window_counts(
    shape: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """How many windows fit along every axis."""
    return tuple(
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(shape, kernel, strides, dilations, strict=True)
    )


def left_over(
    shape: Sequence[int],
    counts: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> list[int]:
    """What no window reaches at the end of every axis: the output padding of a transposed convolution."""
    return [
        size + lo + hi - ((m - 1) * s + d * (k - 1) + 1)
        for size, m, k, s, (lo, hi), d in zip(
            shape, counts, kernel, strides, pads, dilations, strict=True
        )
    ]


def offsets(kernel: Sequence[int]) -> Iterable[tuple[int, ...]]:
    return itertools.product(*map(range, kernel))


def elements(
    at: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[slice]:
    """Where the element `at` of every window is."""
    return [
        slice(i * d, i * d + (m - 1) * s + 1, s)
        for i, d, m, s in zip(at, dilations, counts, strides, strict=True)
    ]
