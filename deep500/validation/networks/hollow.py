"""Arrays without elements: formulas run on them, and what NumPy would allocate and compute is counted.

A meter counts the bytes that are handed out; every array knows the depth of its elements: how many operations wait for
each other until they are there.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import Unsupported
from ...namespace import Axis, Namespace, Pads, count, ints, window_counts

WORKSPACE = "workspace"
REUSED_FROM = (
    1 << 18
)  # bytes: NumPy computes in the memory of a temporary of this size or more


class Meter:
    """How many bytes are handed out now, for what, and how many there were at most."""

    def __init__(self) -> None:
        self.levels: Counter[str] = Counter()
        self.level = 0
        self.peak = 0
        self.at_peak: dict[str, int] = {}
        self.place = ""
        self.peak_place = ""
        self.highest = 0  # since `begin`
        self._counts = True

    def add(self, category: str, nbytes: int) -> None:
        self.levels[category] += nbytes
        self.level += nbytes
        if nbytes > 0 and self._counts:
            self.look()

    def look(self) -> None:
        """Take notice of the level as it is."""
        self.highest = max(self.highest, self.level)
        if self.level > self.peak:
            self.peak, self.at_peak = self.level, dict(self.levels)
            self.peak_place = self.place

    def begin(self, place: str) -> None:
        """What comes now belongs to this place."""
        self.place, self.highest = place, self.level

    @contextmanager
    def without_workspace(self, wanted: bool) -> Iterator[None]:
        """Look again only at the end: what comes and goes in between is not counted."""
        self._counts = not wanted
        try:
            yield
        finally:
            self._counts = True
        self.look()


class Buffer:
    """Memory that was handed out; it is given back when the last array over it is gone."""

    __slots__ = ("category", "meter", "nbytes")

    def __init__(self, meter: Meter, nbytes: int, category: str = WORKSPACE):
        self.meter, self.nbytes, self.category = meter, nbytes, category
        meter.add(category, nbytes)

    def __del__(self) -> None:
        self.meter.add(self.category, -self.nbytes)

    def count_as(self, category: str) -> None:
        """Move it to another category."""
        if category != self.category:
            self.meter.levels[self.category] -= self.nbytes
            self.meter.levels[category] += self.nbytes
            self.category = category


class Hollow:
    """An array of which there are only shape, strides, dtype and depth; `outline` is never read from."""

    __array_ufunc__ = None  # NumPy's scalars leave the arithmetic to this class
    __hash__ = object.__hash__

    def __init__(self, outline: np.ndarray, buffer: Buffer, depth: int = 0):
        self.outline, self.buffer, self.depth = outline, buffer, depth
        self.shape, self.dtype, self.ndim = outline.shape, outline.dtype, outline.ndim

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def view(self, outline: np.ndarray) -> "Hollow":
        """Another array over the same memory."""
        return Hollow(outline, self.buffer, self.depth)

    def __getitem__(self, key: Any) -> "Hollow":
        keys = key if isinstance(key, tuple) else (key,)
        if not all(k is None or isinstance(k, int | slice | type(...)) for k in keys):
            raise Unsupported(
                "an array without elements cannot be indexed by another array"
            )
        whole = keys if any(k is ... for k in keys) else (*keys, ...)
        return self.view(self.outline[whole])

    def __matmul__(self, other: Any) -> "Hollow":
        return product(self.buffer.meter, self, other)

    def __neg__(self) -> "Hollow":
        return elementwise(self.buffer.meter, (self,))

    def __invert__(self) -> "Hollow":
        return elementwise(self.buffer.meter, (self,))

    def _needs_values(self) -> Any:
        raise Unsupported("the values of an array decide on what is computed")

    __bool__ = __int__ = __float__ = __index__ = __iter__ = __len__ = _needs_values


def new(
    meter: Meter,
    shape: Sequence[int],
    dtype: Any,
    category: str = WORKSPACE,
    depth: int = 0,
) -> Hollow:
    """An array in memory of its own."""
    outline = _outline(shape, np.dtype(dtype))
    nbytes = math.prod(shape) * outline.dtype.itemsize
    return Hollow(outline, Buffer(meter, nbytes, category), depth)


def depth_of(values: Sequence[Any]) -> int:
    """That of the deepest."""
    return max((x.depth for x in values if isinstance(x, Hollow)), default=0)


def tree(count: int) -> int:
    """The depth of a tree that combines so many numbers two by two."""
    return max(0, count - 1).bit_length()


def elementwise(meter: Meter, operands: Sequence[Any], dtype: Any = None) -> Hollow:
    """All operands broadcast together; Python numbers take the dtype of the arrays."""
    shape = np.broadcast_shapes(*(np.shape(_plain(x)) for x in operands))
    return new(meter, shape, dtype or _common(operands), depth=depth_of(operands) + 1)


def product(meter: Meter, x: Hollow, y: Hollow) -> Hollow:
    """The product of matrices, of stacks of them, or of vectors."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    depth = depth_of((x, y)) + 1 + tree(x.shape[-1])
    return new(meter, (*batch, *rows, *columns), _common((x, y)), depth=depth)


def _outline(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    strides = [dtype.itemsize] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * max(1, shape[axis + 1])
    return np.lib.stride_tricks.as_strided(
        np.zeros((), dtype), tuple(shape), tuple(strides)
    )


def _plain(x: Any) -> Any:
    return x.outline if isinstance(x, Hollow) else x


def _common(operands: Sequence[Any]) -> np.dtype:
    kinds = [
        x.dtype if isinstance(x, Hollow | np.ndarray | np.generic) else x
        for x in operands
    ]
    try:
        return np.result_type(*kinds)
    except TypeError:  # a number beside one of the small types that NumPy does not know
        return next(kind for kind in kinds if isinstance(kind, np.dtype))


def _arithmetic(name: str, reflected: bool) -> Callable[[Hollow, Any], Hollow]:
    commutative = name in ("add", "mul", "and", "or", "xor")

    def method(self: Hollow, other: Any) -> Hollow:
        result = _result_dtype(name, self, other)
        if (
            sys.getrefcount(self) <= TEMPORARY
            and not reflected
            and _holds(self, other, result)
        ):
            return Hollow(self.outline, self.buffer, depth_of((self, other)) + 1)
        swaps = commutative and isinstance(other, Hollow)
        if (
            swaps
            and sys.getrefcount(other) <= TEMPORARY
            and _holds(other, self, result)
        ):
            return Hollow(other.outline, other.buffer, depth_of((self, other)) + 1)
        return elementwise(self.buffer.meter, (self, other), result)

    return method


def _result_dtype(name: str, self: Hollow, other: Any) -> Any:
    common = _common((self, other))
    if name == "truediv" and common.kind in "iub":
        return np.dtype("float64")
    return common


def _holds(temporary: Hollow, other: Any, dtype: np.dtype) -> bool:
    """Whether NumPy would write the result into the memory of this temporary."""
    shape = np.shape(_plain(other))
    same = shape in ((), temporary.shape) and dtype == temporary.dtype
    return same and temporary.nbytes >= REUSED_FROM


def _comparison(self: Hollow, other: Any) -> Hollow:
    return elementwise(self.buffer.meter, (self, other), "bool")


TEMPORARY = 0  # references to an operand that nobody else has; counted below
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
)
for _name in (*_ARITHMETIC, "and", "or", "xor"):
    setattr(Hollow, f"__{_name}__", _arithmetic(_name, False))
    setattr(Hollow, f"__r{_name}__", _arithmetic(_name, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Hollow, f"__{_name}__", _comparison)


class _Probe:
    """Counts the references that an operand has while Python computes with it."""

    def __add__(self, other: Any) -> int:
        return sys.getrefcount(self)


TEMPORARY = _Probe() + 1


def _unary(self: Namespace, x: Any) -> Hollow:
    return elementwise(self.meter, (x,))  # type: ignore[attr-defined]


def _binary(self: Namespace, x: Any, y: Any) -> Hollow:
    return elementwise(self.meter, (x, y))  # type: ignore[attr-defined]


def _logical(self: Namespace, *xs: Any) -> Hollow:
    return elementwise(self.meter, xs, "bool")  # type: ignore[attr-defined]


def _reduction(
    self: Namespace, x: Any, axis: Axis = None, keepdims: bool = False
) -> Hollow:
    shape = _reduced(x.shape, axis, keepdims)
    depth = x.depth + tree(count(x.shape, axis))
    return new(self.meter, shape, x.dtype, depth=depth)  # type: ignore[attr-defined]


def _reduced(shape: Sequence[int], axis: Axis, keepdims: bool) -> tuple[int, ...]:
    gone = {a % len(shape) for a in (range(len(shape)) if axis is None else ints(axis))}
    if keepdims:
        return tuple(1 if i in gone else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in gone)


class HollowNamespace(Namespace):
    """What NumPy's namespace allocates, without the numbers."""

    abs = exp = log = sqrt = sin = cos = tanh = asin = acos = atan = sign = floor = (
        erf
    ) = _unary
    sinh = cosh = expm1 = log1p = _unary
    maximum = minimum = pow = fmod = _binary
    isnan = logical_not = logical_and = logical_or = _logical
    sum = prod = max = min = _reduction

    def __init__(self, meter: Meter):
        self.meter = meter

    def where(self, condition: Any, x: Any, y: Any) -> Hollow:
        return elementwise(self.meter, (condition, x, y), _common((x, y)))

    def astype(self, x: Any, dtype: Any) -> Hollow:
        return new(self.meter, np.shape(_plain(x)), dtype, depth=depth_of((x,)))

    def bitcast(self, x: Any, dtype: Any) -> Hollow:
        return x.view(_outline(x.shape, np.dtype(dtype)))

    def asarray(self, value: Any, dtype: Any = None) -> Hollow:
        if isinstance(value, Hollow):
            return value if dtype in (None, value.dtype) else self.astype(value, dtype)
        array = np.asarray(value, dtype)
        return new(self.meter, array.shape, array.dtype)

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Hollow:
        return new(self.meter, shape, dtype)

    def arange(self, n: int, dtype: Any) -> Hollow:
        return new(self.meter, (n,), dtype)

    def reshape(self, x: Any, shape: Sequence[int]) -> Hollow:
        try:
            return x.view(np.reshape(x.outline, tuple(shape), copy=False))
        except ValueError:
            known = -math.prod(shape)
            whole = tuple(x.size // known if n == -1 else n for n in shape)
            if math.prod(whole) != x.size:
                raise
            return new(self.meter, whole, x.dtype, depth=x.depth)

    def permute_dims(self, x: Any, axes: Sequence[int]) -> Hollow:
        return x.view(np.permute_dims(x.outline, tuple(axes)))

    def broadcast_to(self, x: Any, shape: Sequence[int]) -> Hollow:
        return x.view(np.broadcast_to(x.outline, tuple(shape)))

    def flip(self, x: Any, axis: int) -> Hollow:
        return x.view(np.flip(x.outline, axis))

    def concat(self, xs: Sequence[Any], axis: int = 0) -> Hollow:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return new(self.meter, shape, _common(xs), depth=depth_of(xs))

    def enlarge(self, x: Any, pads: Pads, value: float) -> Hollow:
        shape = [n + lo + hi for n, (lo, hi) in zip(x.shape, pads, strict=True)]
        return new(self.meter, shape, x.dtype, depth=x.depth)

    def argmax(self, x: Any, axis: int, keepdims: bool = False) -> Hollow:
        depth = x.depth + tree(x.shape[axis])
        return new(self.meter, _reduced(x.shape, axis, keepdims), "int64", depth=depth)

    def cumulative_sum(self, x: Any, axis: int) -> Hollow:
        return new(self.meter, x.shape, x.dtype, depth=x.depth + tree(x.shape[axis]))

    def matmul(self, x: Any, y: Any) -> Hollow:
        return product(self.meter, x, y)

    def einsum(self, formula: str, *xs: Any) -> Hollow:
        terms, arrow, result = formula.replace(" ", "").partition("->")
        if not arrow or "." in formula:
            raise Unsupported(f"the shape of einsum {formula!r} is not worked out")
        sizes: dict[str, int] = {}
        for term, x in zip(terms.split(","), xs, strict=True):
            for letter, n in zip(term, x.shape, strict=True):
                sizes[letter] = max(n, sizes.get(letter, 1))
        shape = [sizes[letter] for letter in result]
        added = math.prod(n for letter, n in sizes.items() if letter not in result)
        return new(self.meter, shape, _common(xs), depth=depth_of(xs) + 1 + tree(added))

    def take(self, x: Any, indices: Any, axis: int = 0) -> Hollow:
        axis %= x.ndim
        places = np.shape(_plain(indices))
        shape = (*x.shape[:axis], *places, *x.shape[axis + 1 :])
        return new(self.meter, shape, x.dtype, depth=depth_of((x, indices)))

    def take_along_axis(self, x: Any, indices: Any, axis: int) -> Hollow:
        return new(self.meter, indices.shape, x.dtype, depth=depth_of((x, indices)))

    def scatter_add(self, x: Any, indices: Any, values: Any, axis: int) -> Hollow:
        depth = depth_of((x, indices, values)) + tree(values.shape[axis] + 1)
        return new(self.meter, x.shape, x.dtype, depth=depth)

    def sort_descending(self, x: Any, axis: int) -> tuple[Hollow, Hollow]:
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
    ) -> Hollow:
        n = len(kernel)
        counts = window_counts(x.shape[-n:], kernel, strides, dilations)
        own = x.outline.strides
        steps = [s * size for s, size in zip(strides, own[-n:], strict=True)]
        inner = [d * size for d, size in zip(dilations, own[-n:], strict=True)]
        shape = (*x.shape[:-n], *counts, *kernel)
        place = (*own[:-n], *steps, *inner)
        return x.view(np.lib.stride_tricks.as_strided(x.outline, shape, place))

    def fold(
        self,
        w: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Hollow:
        n = len(shape)
        depth = w.depth + tree(math.prod(w.shape[-n:]))
        return new(self.meter, (*w.shape[: -2 * n], *shape), w.dtype, depth=depth)

    def stuff(self, x: Any, strides: Sequence[int]) -> Hollow:
        n = len(strides)
        spatial = [(m - 1) * s + 1 for m, s in zip(x.shape[-n:], strides, strict=True)]
        return new(self.meter, (*x.shape[:-n], *spatial), x.dtype, depth=x.depth)
