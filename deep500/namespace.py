"""The array functions that a formula may use: the core that every adapter binds, and functions built on that core.

A formula may also use operators (+ - * / ** @, comparisons, // % & | ~ of integers, & | of booleans), basic
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

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


class Namespace:
    """Base class of the adapters' namespaces.

    An adapter must bind every function of the core. The other functions work on any adapter as they are; an adapter
    overrides those that its framework does faster.
    """

    # how many the framework was told to compute with; 0: it was not told
    threads: int = 0
    # whether it may compile code that calls Python back, whose results it has to know before
    calls_back: bool = False

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
    reshape: Function  # (x, shape) a single -1 is inferred
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
    # (x, indices, axis) indices shaped as x but along the axis
    take_along_axis: Function
    scatter_add: Function  # (x, indices, values, axis) x with values added; repeated indices add up
    sort_descending: Function  # (x, axis) -> (sorted, int64 indices), stable

    def __init_subclass__(cls) -> None:
        members = dir(cls)
        missing = [name for name in Namespace.__annotations__ if name not in members]
        if missing:
            names = ", ".join(missing)
            raise TypeError(
                f"{cls.__name__} does not bind {names}; every adapter binds the whole core"
            )

    # -- elementwise and reductions
    def square(self, x: Array) -> Array:
        return x * x

    def reciprocal(self, x: Array) -> Array:
        return 1 / x

    def expm1(self, x: Array) -> Array:
        """exp(x) - 1, accurate near 0 too: the rounding error of exp(x) appears in its logarithm and cancels."""
        e = self.exp(x)
        # where nothing cancels, or everything has
        plain = (e == 1) | (self.abs(x) > 1)
        uncorrected = self.where(e == 1, x, e - 1)
        corrected = (e - 1) * (x / self.log(self.where(plain, 2, e)))
        return self.where(plain, uncorrected, corrected)

    def log1p(self, x: Array) -> Array:
        """log(1 + x), accurate near 0 too: log(u) / (u - 1) hardly changes within the rounding error of u."""
        u = 1 + x
        plain = (u == 1) | (u > 2)
        uncorrected = self.where(u == 1, x, self.log(u))
        corrected = self.log(u) * (x / self.where(plain, 1, u - 1))
        return self.where(plain, uncorrected, corrected)

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
        if low is not None:
            x = self.maximum(x, low)
        if high is not None:
            x = self.minimum(x, high)
        return x

    def mean(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        return self.sum(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)

    def logsumexp(self, x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        largest = self.max(x, axis=axis, keepdims=True)
        # without this, infinities would cancel to NaN
        largest = self.where(self.abs(largest) < math.inf, largest, 0)
        shifted = self.exp(x - largest)
        total = largest + self.log(self.sum(shifted, axis=axis, keepdims=True))
        if keepdims:
            return total
        reduced_axes = range(x.ndim) if axis is None else axis
        return self.squeeze(total, reduced_axes)

    # -- creation and shape
    def zeros(self, shape: Sequence[int], dtype: Any) -> Array:
        return self.full(shape, 0, dtype)

    def zeros_like(self, x: Array) -> Array:
        return self.full(x.shape, 0, x.dtype)

    def ones_like(self, x: Array) -> Array:
        return self.full(x.shape, 1, x.dtype)

    def expand_dims(self, x: Array, axis: int | Iterable[int]) -> Array:
        """Insert axes of length 1; `axis` gives their positions in the result."""
        axes = ints(axis)
        rank = x.ndim + len(axes)
        new_axes = {a % rank for a in axes}
        if len(new_axes) < len(axes):
            raise Deep500Error(f"the axes {axes} name one axis twice: give each once")
        shape = list(x.shape)
        for new_axis in sorted(new_axes):
            shape.insert(new_axis, 1)
        return self.reshape(x, tuple(shape))

    def squeeze(self, x: Array, axis: int | Iterable[int] | None = None) -> Array:
        """Remove these axes of length 1; without `axis`, all axes of length 1."""
        if axis is None:
            return self.reshape(x, tuple(n for n in x.shape if n != 1))
        removed = {a % x.ndim for a in ints(axis)}
        shape = [n for i, n in enumerate(x.shape) if i not in removed]
        return self.reshape(x, tuple(shape))

    def stack(self, xs: Sequence[Array], axis: int = 0) -> Array:
        return self.concat([self.expand_dims(x, axis) for x in xs], axis=axis)

    def split(self, x: Array, sizes: Sequence[int], axis: int = 0) -> list[Array]:
        parts = []
        start = 0
        for size in sizes:
            parts.append(slice_axis(x, axis, start, start + size))
            start += size
        return parts

    def one_hot(self, indices: Array, n: int, dtype: Any) -> Array:
        """A new last axis of length n: 1 at the index, 0 elsewhere; all 0 for an index out of range."""
        column = self.expand_dims(indices, -1)
        positions = self.arange(n, indices.dtype)
        return self.astype(column == positions, dtype)

    def pad(self, x: Array, pads: Pads, value: float = 0) -> Array:
        """Constant padding of every axis; a negative amount crops."""
        if any(before < 0 or after < 0 for before, after in pads):
            inner = []
            for length, (before, after) in zip(x.shape, pads, strict=True):
                inner.append(slice(max(0, -before), length - max(0, -after)))
            x = x[tuple(inner)]
            pads = [(max(0, before), max(0, after)) for before, after in pads]
        if not any(map(any, pads)):
            return x
        return self.enlarge(x, pads, value)

    def nonzero(self, x: Array) -> Array:
        """The indices of all elements that are not 0 or False, in order, as int64 of shape (n, rank).

        Raises Unsupported where programs are compiled for fixed shapes.
        """
        raise Unsupported(
            "how many elements come out depends on their values, which a program compiled for fixed "
            "shapes cannot do: run it on reference, pytorch or tensorflow"
        )

    def unbroadcast(self, g: Array, shape: Sequence[int]) -> Array:
        """The adjoint of broadcasting an array of this shape to that of g: a sum over the broadcast axes."""
        if tuple(g.shape) == tuple(shape):
            return g
        lead = g.ndim - len(shape)
        axes = list(range(lead))
        for axis, length in enumerate(shape, lead):
            if length == 1 and g.shape[axis] != 1:
                axes.append(axis)
        if axes:
            g = self.sum(g, axis=tuple(axes))
        return self.reshape(g, tuple(shape))

    # -- windows over the last axes, and convolutions made of them
    def windows(
        self,
        x: Array,
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Array:
        """(..., *counts, *kernel): every window of the last len(kernel) axes."""
        spatial_shape = x.shape[-len(kernel) :]
        counts = window_counts(spatial_shape, kernel, strides, dilations)
        if math.prod(kernel) > 64:  # or a compiler sees thousands of slices
            return self._taken_windows(x, counts, kernel, strides, dilations)
        parts = []
        for offset in offsets(kernel):
            slices = elements(offset, counts, strides, dilations)
            parts.append(x[(..., *slices)])
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
        """The same as `windows`, by taking indices along one axis after the other."""
        import numpy as np  # some engines take minutes for millions of numbers in lists

        n = len(kernel)
        first = x.ndim - n
        geometry = zip(counts, kernel, strides, dilations, strict=True)
        for axis, (count, length, stride, dilation) in enumerate(geometry):
            starts = np.arange(count, dtype=np.int64) * stride
            steps = np.arange(length, dtype=np.int64) * dilation
            indices = self.asarray(starts[:, None] + steps, "int64")
            x = self.take(x, indices, axis=first + 2 * axis)
        count_axes = range(first, first + 2 * n, 2)
        kernel_axes = range(first + 1, first + 2 * n, 2)
        return self.permute_dims(x, (*range(first), *count_axes, *kernel_axes))

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
        for offset in offsets(w.shape[-n:]):
            part = self.stuff(w[(..., *offset)], strides)
            pads = [(0, 0)] * (part.ndim - n)
            lengths = part.shape[-n:]
            axes = zip(offset, dilations, shape, lengths, strict=True)
            for index, dilation, size, length in axes:
                start = index * dilation
                pads.append((start, size - start - length))
            part = self.pad(part, pads)
            total = part if total is None else total + part
        return total

    def stuff(self, x: Array, strides: Sequence[int]) -> Array:
        """Insert stride - 1 zeros between the neighbours along each of the last axes."""
        for axis, stride in enumerate(strides, x.ndim - len(strides)):
            if stride > 1:
                pads = [(0, 0)] * (x.ndim + 1)
                pads[axis + 1] = (0, stride - 1)
                y = self.pad(self.expand_dims(x, axis + 1), pads)
                shape = list(x.shape)
                shape[axis] *= stride
                y = self.reshape(y, tuple(shape))
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
        batch = x.shape[0]
        features = w.shape[0]
        inner = math.prod(w.shape[1:])
        v = self.pad(x, [(0, 0), (0, 0), *pads])
        v = self.windows(v, w.shape[2:], strides, dilations)
        counts = v.shape[2 : 2 + n]
        count_axes = range(2, 2 + n)
        kernel_axes = range(2 + n, 2 + 2 * n)
        v = self.permute_dims(v, (0, 1, *kernel_axes, *count_axes))
        v = self.reshape(v, (batch, groups, inner, math.prod(counts)))
        matrices = self.reshape(w, (groups, features // groups, inner))
        y = self.matmul(matrices, v)
        return self.reshape(y, (batch, features, *counts))

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
        n = w.ndim - 2
        counts = y.shape[2:]
        batch = y.shape[0]
        group_features = w.shape[0] // groups
        channels = groups * w.shape[1]
        inner = math.prod(w.shape[1:])
        y = self.reshape(y, (batch, groups, group_features, math.prod(counts)))
        matrices = self.reshape(w, (groups, group_features, inner))
        v = self.matmul(self.permute_dims(matrices, (0, 2, 1)), y)
        v = self.reshape(v, (batch, channels, *w.shape[2:], *counts))
        kernel_axes = range(2, 2 + n)
        count_axes = range(2 + n, 2 + 2 * n)
        v = self.permute_dims(v, (0, 1, *count_axes, *kernel_axes))
        padded_shape = []
        for size, (before, after) in zip(shape, pads, strict=True):
            padded_shape.append(size + before + after)
        folded = self.fold(v, padded_shape, strides, dilations)
        return crop(folded, shape, pads)

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
        batch, channels, *spatial_shape = x.shape
        group_channels = channels // groups
        x = self.reshape(x, (batch, groups, group_channels, *spatial_shape))
        x = self.permute_dims(x, (2, 1, 0, *range(3, x.ndim)))
        x = self.reshape(x, (group_channels, groups * batch, *spatial_shape))
        y = self.permute_dims(y, (1, 0, *range(2, y.ndim)))
        w = self.conv(x, y, dilations, pads, strides, groups)
        # strides that do not divide the lengths give more windows than the kernel has
        inner = [slice(0, length) for length in kernel]
        w = w[(..., *inner)]
        return self.permute_dims(w, (1, 0, *range(2, w.ndim)))

    # -- control flow, executed immediately unless an adapter records it
    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        """carry, ys = f(carry, x at t) for every t along axis 0 of the arrays xs; the ys are stacked."""
        rows = []
        for t in range(length):
            slices = tuple(x[t] for x in xs)
            carry, y = f(carry, slices)
            rows.append(y)
        columns = zip(*rows, strict=True)
        return carry, tuple(self.stack(list(column)) for column in columns)

    def cond(self, condition: Array, yes: Function, no: Function, *args: Any) -> Array:
        """yes(*args) where the scalar holds, no(*args) otherwise; both give one array, or a tuple, of like shapes."""
        return yes(*args) if bool(condition) else no(*args)

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        """state = body(*state) as long as condition(*state), a scalar, holds; the arrays keep their shapes."""
        while bool(condition(*state)):
            state = body(*state)
        return state

    def require(self, condition: Array, message: str, x: Array) -> Array:
        """x, if the scalar holds; otherwise an error, with this message where the framework can give one."""
        if not bool(condition):
            raise Deep500Error(message)
        return x

    # -- counter-based random numbers
    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Array
    ) -> Sequence[Array]:
        """Call a function of NumPy arrays; `kinds` are its results' shapes and dtypes. Nothing is differentiated."""
        return function(*xs)

    def uniform(self, key: Array, shape: Sequence[int]) -> Array:
        """float32 in [0, 1): a pure function of the key and the shape, bit-identical on every framework.

        The key is four integers: two words, the number of the first example and the count of examples. An element
        depends on its row in the whole batch and its place in the row.
        """
        key = self.astype(key, "int64")
        rows = shape[0] if shape else 1
        width = math.prod(shape[1:])
        half = (width + 1) // 2
        row_numbers = self.arange(rows, "int64") + key[2] * rows // key[3]
        row = self.reshape(row_numbers, (rows, 1))
        place = self.reshape(self.arange(half, "int64"), (1, half))
        zeros = self.zeros((rows, half), "int64")
        words = self.threefry(key, row + zeros, place + zeros)
        bits = self.concat(words, axis=1)[:, :width]
        del words  # as large as the bits, and not needed any more
        numbers = self.astype(self.shift_right(bits, 8), "float32") * 2.0**-24
        return self.reshape(numbers, tuple(shape))

    def threefry(self, key: Array, a: Array, b: Array) -> tuple[Array, Array]:
        """Threefry-2x32 with 20 rounds of the counters (a, b): 32-bit words held in int64."""
        k0, k1 = key[0], key[1]
        parity = self.xor(self.xor(k0, k1), self.asarray(0x1BD11BDA, "int64"))
        keys = (k0, k1, parity)
        a = self.mask32(a + k0)
        b = self.mask32(b + k1)
        for i in range(5):
            for by in THREEFRY_ROTATIONS[i % 2]:
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
        rest = 32 - by
        return self.mask32(self.shift_left(x, by)) | self.shift_right(x, rest)

    # -- what functions with the same bits everywhere are built on: see deep500/elementary
    def widen(self, x: Array) -> Array:
        """float32 as float64, exactly, also where the processor takes denormal numbers for 0."""
        bits = self.astype(self.bitcast(x, "int32"), "int64")
        size = bits & 0x7FFFFFFF
        denormal = self.astype(size & 0x7FFFFF, "float64") * 2.0**-149
        signed = self.where(bits < 0, -denormal, denormal)
        is_nan = size > 0x7F800000
        normal = self.astype(self.where(is_nan, 1.0, x), "float64")
        normal = self.where(is_nan, math.nan, normal)
        return self.where(size < 0x800000, signed, normal)

    def narrow(self, x: Array) -> Array:
        """float64 rounded to float32, half to even, also to denormal numbers; every NaN becomes the same one."""
        size = self.abs(x)
        is_denormal = (size < 2.0**-126) & (size > 0)
        steps = self.where(is_denormal, size, 0.0) * 2.0**149
        whole = self.floor(steps)
        rest = steps - whole
        number = self.astype(whole, "int64")
        is_up = (rest > 0.5) | ((rest == 0.5) & ((number & 1) == 1))
        number = number + self.astype(is_up, "int64")
        word = self.astype(self.where(x < 0, number - 2**31, number), "int32")
        y = self.astype(self.where(is_denormal, 1.0, x), "float32")
        y = self.where(is_denormal, self.bitcast(word, "float32"), y)
        return self.where(self.isnan(x), math.nan, y)

    def unit(self, x: Array) -> Array:
        """-1 for negative numbers and for -0, otherwise 1; of float64."""
        is_negative = self.bitcast(x, "int64") < 0
        return self.where(is_negative, -1.0, self.ones_like(x))

    def exponent(self, x: Array) -> Array:
        """The largest n with 2**n <= x, for positive normal numbers in float64."""
        biased = self.shift_right(self.bitcast(x, "int64"), 52)
        return self.astype(biased - 1023, "float64")

    def power_of_two(self, n: Array) -> Array:
        """2**n for whole numbers from -1022 to 1023, both in float64."""
        biased = self.astype(n, "int64") + 1023
        return self.bitcast(self.shift_left(biased, 52), "float64")

    def hidden_zero(self, x: Array) -> Array:
        """Zeros shaped as x in float64, which no compiler knows to be zeros: n (n + 1) is even."""
        n = self.shift_right(self.bitcast(x, "int64"), 32) & 0xFFFF
        return (n * (n + 1)) & 1

    def apart(self, x: Array, zero: Array) -> Array:
        """x in float64, which no compiler joins with what comes after it; `zero` is a `hidden_zero`."""
        return self.bitcast(self.xor(self.bitcast(x, "int64"), zero), "float64")


def bind(*functions: Any) -> tuple[Any, ...]:
    """A framework's own functions as members of its namespace."""
    return tuple(map(staticmethod, functions))


def kind(x: Any) -> str:
    """The kind of an array's (or a TensorSpec's) dtype: "float", "int", "uint" or "bool"."""
    dtype = str(x.dtype)
    return next(name for name in ("float", "uint", "int", "bool") if name in dtype)


def ints(axis: int | Iterable[int]) -> tuple[int, ...]:
    """One axis or several, always as a tuple."""
    if isinstance(axis, int):
        return (axis,)
    return tuple(axis)


def count(shape: Sequence[int], axis: Axis = None) -> int:
    """How many elements a reduction over these axes combines into one."""
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in ints(axis))


def slice_axis(x: Array, axis: int, start: int, stop: int) -> Array:
    axes_before = axis % x.ndim
    return x[(slice(None),) * axes_before + (slice(start, stop),)]


def crop(x: Array, shape: Sequence[int], pads: Pads) -> Array:
    """The last axes without their padding."""
    inner = []
    for size, (before, _) in zip(shape, pads, strict=True):
        inner.append(slice(before, before + size))
    return x[(..., *inner)]


def window_counts(
    shape: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[int, ...]:
    """How many windows fit along every axis."""
    counts = []
    axes = zip(shape, kernel, strides, dilations, strict=True)
    for size, length, stride, dilation in axes:
        reach = dilation * (length - 1) + 1
        counts.append((size - reach) // stride + 1)
    return tuple(counts)


def left_over(
    shape: Sequence[int],
    counts: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
) -> list[int]:
    """How many elements no window reaches at the end of every axis: the output padding of a transposed convolution."""
    unreached = []
    axes = zip(shape, counts, kernel, strides, pads, dilations, strict=True)
    for size, count, length, stride, (before, after), dilation in axes:
        reached = (count - 1) * stride + dilation * (length - 1) + 1
        unreached.append(size + before + after - reached)
    return unreached


def offsets(kernel: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The index of every element of a window."""
    return itertools.product(*map(range, kernel))


def elements(
    offset: Sequence[int],
    counts: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[slice]:
    """The slices that select, from every window, the element at this offset."""
    slices = []
    axes = zip(offset, dilations, counts, strides, strict=True)
    for index, dilation, count, stride in axes:
        start = index * dilation
        slices.append(slice(start, start + (count - 1) * stride + 1, stride))
    return slices
