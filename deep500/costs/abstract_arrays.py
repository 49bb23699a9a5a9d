"""Arrays without elements: formulas run on them to count what NumPy would allocate and compute.

A meter counts the bytes that are allocated. Every array knows the depth of its elements: the length of the longest
chain of operations that must finish before they are there.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import Unsupported

WORKSPACE = "workspace"
# bytes: NumPy reuses the memory of a temporary of this size or more for the result
REUSED_FROM = 1 << 18


class Meter:
    """Counts the allocated bytes by category, and remembers the peak."""

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
        """Count an allocation, or, if `nbytes` is negative, a release."""
        self.levels[category] += nbytes
        self.level += nbytes
        if nbytes > 0 and self._counts:
            self.look()

    def look(self) -> None:
        """Update the peak from the current level."""
        self.highest = max(self.highest, self.level)
        if self.level > self.peak:
            self.peak = self.level
            self.at_peak = dict(self.levels)
            self.peak_place = self.place

    def begin(self, place: str) -> None:
        """Attribute what follows to this place, such as a node's forward pass."""
        self.place = place
        self.highest = self.level

    @contextmanager
    def without_workspace(self, enabled: bool) -> Iterator[None]:
        """If enabled, ignore what is allocated and released inside: only the level at the end counts."""
        self._counts = not enabled
        try:
            yield
        finally:
            self._counts = True
        self.look()


class Buffer:
    """Allocated memory; it is released when the last array over it is gone."""

    __slots__ = ("category", "meter", "nbytes")

    def __init__(self, meter: Meter, nbytes: int, category: str = WORKSPACE):
        self.meter = meter
        self.nbytes = nbytes
        self.category = category
        meter.add(category, nbytes)

    def __del__(self) -> None:
        self.meter.add(self.category, -self.nbytes)

    def count_as(self, category: str) -> None:
        """Move the buffer to another category."""
        if category == self.category:
            return
        levels = self.meter.levels
        levels[self.category] -= self.nbytes
        levels[category] += self.nbytes
        self.category = category


class AbstractArray:
    """An array with only shape, strides, dtype and depth; the elements of `outline` are never read."""

    __array_ufunc__ = None  # NumPy's scalars leave the arithmetic to this class
    __hash__ = object.__hash__

    def __init__(self, outline: np.ndarray, buffer: Buffer, depth: int = 0):
        self.outline = outline
        self.buffer = buffer
        self.depth = depth
        self.shape = outline.shape
        self.dtype = outline.dtype
        self.ndim = outline.ndim

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def view(self, outline: np.ndarray) -> "AbstractArray":
        """Another array over the same memory."""
        return AbstractArray(outline, self.buffer, self.depth)

    def __getitem__(self, key: Any) -> "AbstractArray":
        keys = key if isinstance(key, tuple) else (key,)
        has_ellipsis = False
        for part in keys:
            if part is ...:
                has_ellipsis = True
            elif part is not None and not isinstance(part, int | slice):
                raise Unsupported(
                    "an array without elements cannot be indexed by another array"
                )
        if not has_ellipsis:
            # so that NumPy returns an array and never a scalar
            keys = *keys, ...
        return self.view(self.outline[keys])

    def __matmul__(self, other: Any) -> "AbstractArray":
        return product(self.buffer.meter, self, other)

    def __neg__(self) -> "AbstractArray":
        return elementwise(self.buffer.meter, (self,))

    def __invert__(self) -> "AbstractArray":
        return elementwise(self.buffer.meter, (self,))

    def _needs_values(self) -> Any:
        raise Unsupported("the values of an array decide on what is computed")

    __bool__ = __int__ = __float__ = __index__ = _needs_values
    __iter__ = __len__ = _needs_values


def new(
    meter: Meter,
    shape: Sequence[int],
    dtype: Any,
    category: str = WORKSPACE,
    depth: int = 0,
) -> AbstractArray:
    """An array in newly allocated memory."""
    outline = contiguous_outline(shape, np.dtype(dtype))
    nbytes = math.prod(shape) * outline.dtype.itemsize
    buffer = Buffer(meter, nbytes, category)
    return AbstractArray(outline, buffer, depth)


def depth_of(values: Sequence[Any]) -> int:
    """The largest depth of the arrays among these values; 0 if there is none."""
    depth = 0
    for value in values:
        if isinstance(value, AbstractArray):
            depth = max(depth, value.depth)
    return depth


def tree(count: int) -> int:
    """The depth of a tree that combines so many numbers two by two."""
    return max(0, count - 1).bit_length()


def elementwise(
    meter: Meter, operands: Sequence[Any], dtype: Any = None
) -> AbstractArray:
    """The result of an elementwise operation: operands are broadcast, Python numbers take the arrays' dtype."""
    shape = np.broadcast_shapes(*(shape_of(operand) for operand in operands))
    result_dtype = dtype or common_dtype(operands)
    return new(meter, shape, result_dtype, depth=depth_of(operands) + 1)


def product(meter: Meter, x: AbstractArray, y: AbstractArray) -> AbstractArray:
    """The product of two matrices, stacks of matrices, or vectors."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    shape = (*batch, *rows, *columns)
    additions = tree(x.shape[-1])
    depth = depth_of((x, y)) + 1 + additions
    return new(meter, shape, common_dtype((x, y)), depth=depth)


def contiguous_outline(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """An outline with the strides of a contiguous array."""
    strides = [dtype.itemsize] * len(shape)
    for axis in reversed(range(1, len(shape))):
        size = max(1, shape[axis])
        strides[axis - 1] = strides[axis] * size
    element = np.zeros((), dtype)
    as_strided = np.lib.stride_tricks.as_strided
    return as_strided(element, tuple(shape), tuple(strides))


def shape_of(x: Any) -> tuple[int, ...]:
    """The shape of an array of any kind, or of a number."""
    if isinstance(x, AbstractArray):
        return x.shape
    return np.shape(x)


def common_dtype(operands: Sequence[Any]) -> np.dtype:
    """The dtype that NumPy promotes these operands to."""
    kinds = []
    for operand in operands:
        has_dtype = isinstance(operand, AbstractArray | np.ndarray | np.generic)
        kinds.append(operand.dtype if has_dtype else operand)
    try:
        return np.result_type(*kinds)
    except TypeError:
        # a number beside one of the small types that NumPy does not know
        return next(kind for kind in kinds if isinstance(kind, np.dtype))


def _arithmetic(
    name: str, reflected: bool
) -> Callable[[AbstractArray, Any], AbstractArray]:
    """A method such as `__add__`. It reuses the memory of a temporary operand where NumPy would.

    A temporary has no references but those of the call itself, so that a function around `sys.getrefcount` or another
    name for an operand would change the result.
    """
    commutative = name in ("add", "mul", "and", "or", "xor")

    def method(self: AbstractArray, other: Any) -> AbstractArray:
        result = _result_dtype(name, self, other)
        depth = depth_of((self, other)) + 1
        if (
            sys.getrefcount(self) <= TEMPORARY
            and not reflected
            and _holds(self, other, result)
        ):
            return AbstractArray(self.outline, self.buffer, depth)
        swaps = commutative and isinstance(other, AbstractArray)
        if (
            swaps
            and sys.getrefcount(other) <= TEMPORARY
            and _holds(other, self, result)
        ):
            return AbstractArray(other.outline, other.buffer, depth)
        return elementwise(self.buffer.meter, (self, other), result)

    return method


def _result_dtype(name: str, self: AbstractArray, other: Any) -> Any:
    common = common_dtype((self, other))
    if name == "truediv" and common.kind in "iub":
        return np.dtype("float64")
    return common


def _holds(temporary: AbstractArray, other: Any, dtype: np.dtype) -> bool:
    """Whether NumPy would write the result into the memory of this temporary."""
    if temporary.nbytes < REUSED_FROM or dtype != temporary.dtype:
        return False
    return shape_of(other) in ((), temporary.shape)


def _comparison(self: AbstractArray, other: Any) -> AbstractArray:
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
    setattr(AbstractArray, f"__{_name}__", _arithmetic(_name, False))
    setattr(AbstractArray, f"__r{_name}__", _arithmetic(_name, True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(AbstractArray, f"__{_name}__", _comparison)


class _Probe:
    """Counts the references that an operand has while Python computes with it."""

    def __add__(self, other: Any) -> int:
        return sys.getrefcount(self)


TEMPORARY = _Probe() + 1
