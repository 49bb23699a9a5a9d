"""Arrays that record instead of computing: every operation on one adds an ONNX node (built on spox)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import spox
import spox.opset.ai.onnx.v21 as op


def _binary(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        second = const(y, x.dtype)
        return Recorded(f(x.var, second.var))

    return method


def _swapped(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        first = const(y, x.dtype)
        return Recorded(f(first.var, x.var))

    return method


def _logical(of_booleans: Callable, of_integers: Callable) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        second = const(y, x.dtype)
        if x.dtype == bool:
            return Recorded(of_booleans(x.var, second.var))
        return Recorded(of_integers(x.var, second.var))

    return method


class Recorded:
    """An ONNX value of known shape, with the operators and the basic slicing of an array."""

    __array_ufunc__ = None  # NumPy's scalars leave the operators to this class
    __hash__ = object.__hash__

    def __init__(self, var: spox.Var):
        self.var = var

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.var.unwrap_tensor().shape)  # type: ignore[arg-type]

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.var.unwrap_tensor().dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    __add__ = _binary(op.add)
    __radd__ = _swapped(op.add)
    __sub__ = _binary(op.sub)
    __rsub__ = _swapped(op.sub)
    __mul__ = _binary(op.mul)
    __rmul__ = _swapped(op.mul)
    __truediv__ = _binary(op.div)
    __rtruediv__ = _swapped(op.div)
    __pow__ = _binary(op.pow)
    __rpow__ = _swapped(op.pow)
    __matmul__ = _binary(op.matmul)
    __gt__ = _binary(op.greater)
    __ge__ = _binary(op.greater_or_equal)
    __lt__ = _binary(op.less)
    __le__ = _binary(op.less_or_equal)
    __eq__ = _binary(op.equal)
    __and__ = _logical(op.and_, op.bitwise_and)
    __or__ = _logical(op.or_, op.bitwise_or)
    __xor__ = _logical(op.xor, op.bitwise_xor)

    def __ne__(self, other: Any) -> "Recorded":  # type: ignore[override]
        return ~(self == other)

    def __neg__(self) -> "Recorded":
        return Recorded(op.neg(self.var))

    def __invert__(self) -> "Recorded":
        if self.dtype == bool:
            return Recorded(op.not_(self.var))
        return Recorded(op.bitwise_not(self.var))

    def __mod__(self, other: Any) -> "Recorded":
        """The remainder with the sign of the divisor, as in Python; ONNX's Mod has that for integers only."""
        if self.dtype.kind in "iu":
            divisor = const(other, self.dtype)
            return Recorded(op.mod(self.var, divisor.var))
        return self - (self // other) * other

    def __floordiv__(self, other: Any) -> "Recorded":
        """Rounded down; ONNX's Div of integers rounds towards zero."""
        if self.dtype.kind in "iu":
            return (self - self % other) / other
        return Recorded(op.floor((self / other).var))

    def __bool__(self) -> bool:
        raise TypeError(
            "a recorded value is not known yet: use where or cond of the namespace instead of if"
        )

    def __getitem__(self, key: Any) -> "Recorded":
        if not isinstance(key, tuple):
            key = (key,)
        keys = _one_per_axis(key, self.ndim)
        indices = _not_negative(keys, self.shape)
        cuts = _cuts(indices, self.shape)
        part = self.var
        if cuts:
            part = _sliced(part, cuts)
        dropped = _indexed_axes(keys)
        if dropped:
            part = op.squeeze(part, int64s(dropped))
        if part is self.var:
            return self
        return Recorded(part)


def _indexed_axes(keys: Sequence[Any]) -> list[int]:
    """The axes that an index removes, as opposed to a slice."""
    axes = []
    for axis, index in enumerate(keys):
        if isinstance(index, int):
            axes.append(axis)
    return axes


Cut = tuple[int, int, int, int]  # axis, start, stop, step


def _cuts(keys: Sequence[Any], shape: tuple[int, ...]) -> list[Cut]:
    """The cut along each axis; axes that stay whole are left out."""
    cuts = []
    for axis, (index, size) in enumerate(zip(keys, shape, strict=True)):
        span = index
        if isinstance(index, int):
            span = slice(index, index + 1)
        if span == slice(None):
            continue
        start, stop, step = span.indices(size)
        if (start, stop, step) != (0, size, 1):
            cuts.append((axis, start, stop, step))
    return cuts


def _sliced(var: spox.Var, cuts: Sequence[Cut]) -> spox.Var:
    axes, starts, stops, steps = zip(*cuts, strict=True)
    before_start = np.iinfo(np.int64).min  # a stop of -1 in Python's range
    ends = [before_start if stop < 0 else stop for stop in stops]
    return op.slice(
        var,
        starts=int64s(starts),
        ends=int64s(ends),
        axes=int64s(axes),
        steps=int64s(steps),
    )


def const(value: Any, dtype: Any = None) -> Recorded:
    """A recorded value as it is, any other as a constant; raises TypeError for a fraction that would be lost."""
    if isinstance(value, Recorded):
        return value
    if isinstance(value, float) and np.dtype(dtype).kind in "iub":
        raise TypeError(
            f"{value} does not go with {np.dtype(dtype).name}: cast the array first"
        )
    return Recorded(op.const(np.asarray(value, dtype)))


def int64s(values: Any) -> spox.Var:
    return op.const(np.asarray(values, np.int64))


def argument(shape: Sequence[int], dtype: Any) -> Recorded:
    """An input of the graph that is recorded."""
    spec = spox.Tensor(np.dtype(dtype), tuple(shape))
    return Recorded(spox.argument(spec))


def build(
    inputs: Mapping[str, Recorded], outputs: Mapping[str, Recorded]
) -> onnx.ModelProto:
    """The graph from arguments to values that were computed from them; unused arguments stay inputs."""
    input_vars = {name: x.var for name, x in inputs.items()}
    output_vars = {name: y.var for name, y in outputs.items()}
    return spox.build(input_vars, output_vars)


def _one_per_axis(key: tuple, rank: int) -> tuple:
    """The key with whole axes in the place of its ellipsis, or else at its end."""
    ellipses = [i for i, index in enumerate(key) if index is Ellipsis]
    used_axes = len(key) - len(ellipses)
    whole_axes = (slice(None),) * (rank - used_axes)
    if not ellipses:
        return key + whole_axes
    position = ellipses[0]
    before = key[:position]
    after = key[position + 1 :]
    return before + whole_axes + after


def _not_negative(keys: tuple, shape: tuple[int, ...]) -> list[Any]:
    """The keys with every index counted from the front; raises IndexError for one that is out of range."""
    indices = []
    for index, size in zip(keys, shape, strict=True):
        if isinstance(index, int):
            if not -size <= index < size:
                raise IndexError(f"index {index} is outside an axis of length {size}")
            index %= size
        indices.append(index)
    return indices
