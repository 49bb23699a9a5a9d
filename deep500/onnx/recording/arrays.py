"""An array that does not compute but writes down: every operation on it becomes an ONNX node (built on spox)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import spox
import spox.opset.ai.onnx.v21 as op


def _binary(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        return Recorded(f(x.var, const(y, x.dtype).var))

    return method


def _swapped(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        return Recorded(f(const(y, x.dtype).var, x.var))

    return method


def _logical(of_booleans: Callable, of_integers: Callable) -> Callable:
    def method(x: "Recorded", y: Any) -> "Recorded":
        function = of_booleans if x.dtype == bool else of_integers
        return Recorded(function(x.var, const(y, x.dtype).var))

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

    __add__, __radd__ = _binary(op.add), _swapped(op.add)
    __sub__, __rsub__ = _binary(op.sub), _swapped(op.sub)
    __mul__, __rmul__ = _binary(op.mul), _swapped(op.mul)
    __truediv__, __rtruediv__ = _binary(op.div), _swapped(op.div)
    __pow__, __rpow__ = _binary(op.pow), _swapped(op.pow)
    __matmul__ = _binary(op.matmul)
    __gt__, __ge__ = _binary(op.greater), _binary(op.greater_or_equal)
    __lt__, __le__ = _binary(op.less), _binary(op.less_or_equal)
    __eq__ = _binary(op.equal)
    __and__, __or__ = _logical(op.and_, op.bitwise_and), _logical(op.or_, op.bitwise_or)
    __xor__ = _logical(op.xor, op.bitwise_xor)

    def __ne__(self, other: Any) -> "Recorded":  # type: ignore[override]
        return ~(self == other)

    def __neg__(self) -> "Recorded":
        return Recorded(op.neg(self.var))

    def __invert__(self) -> "Recorded":
        invert = op.not_ if self.dtype == bool else op.bitwise_not
        return Recorded(invert(self.var))

    def __mod__(self, other: Any) -> "Recorded":
        """With the sign of the divisor, as Python has it; ONNX's Mod does so for integers only."""
        if self.dtype.kind in "iu":
            return Recorded(op.mod(self.var, const(other, self.dtype).var))
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
        keys = _one_per_axis(key if isinstance(key, tuple) else (key,), self.ndim)
        cuts = _cuts(_not_negative(keys, self.shape), self.shape)
        part = _sliced(self.var, cuts) if cuts else self.var
        dropped = [axis for axis, k in enumerate(keys) if isinstance(k, int)]
        if dropped:
            part = op.squeeze(part, int64s(dropped))
        return self if part is self.var else Recorded(part)


Cut = tuple[int, int, int, int]  # axis, start, stop, step


def _cuts(keys: Sequence[Any], shape: tuple[int, ...]) -> list[Cut]:
    """Where something is cut off: axes that stay whole are left out."""
    cuts = []
    for axis, (index, size) in enumerate(zip(keys, shape, strict=True)):
        span = slice(index, index + 1) if isinstance(index, int) else index
        if span == slice(None):
            continue
        start, stop, step = span.indices(size)
        if (start, stop, step) != (0, size, 1):
            cuts.append((axis, start, stop, step))
    return cuts


def _sliced(var: spox.Var, cuts: Sequence[Cut]) -> spox.Var:
    axes, starts, stops, steps = zip(*cuts, strict=True)
    before_start = np.iinfo(
        np.int64
    ).min  # what Python's -1 means as the end of a range
    ends = [before_start if stop < 0 else stop for stop in stops]
    return op.slice(var, int64s(starts), int64s(ends), int64s(axes), int64s(steps))


def const(value: Any, dtype: Any = None) -> Recorded:
    """A recorded value as it is; a Python or NumPy one as a constant, which never loses its fraction."""
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
    """An input of the graph to come."""
    return Recorded(spox.argument(spox.Tensor(np.dtype(dtype), tuple(shape))))


def build(
    inputs: Mapping[str, Recorded], outputs: Mapping[str, Recorded]
) -> onnx.ModelProto:
    """The graph from arguments to what was computed from them; arguments that nothing used stay inputs."""
    return spox.build(
        {name: x.var for name, x in inputs.items()},
        {name: y.var for name, y in outputs.items()},
    )


def _one_per_axis(key: tuple, rank: int) -> tuple:
    """The key with its ellipsis written out, and whole axes at the end."""
    missing = (slice(None),) * (rank - sum(k is not Ellipsis for k in key))
    at = next((i for i, k in enumerate(key) if k is Ellipsis), None)
    return (*key, *missing) if at is None else (*key[:at], *missing, *key[at + 1 :])


def _not_negative(keys: tuple, shape: tuple[int, ...]) -> list[Any]:
    """Every index counted from the front."""
    for k, size in zip(keys, shape, strict=True):
        if isinstance(k, int) and not -size <= k < size:
            raise IndexError(f"index {k} is outside an axis of length {size}")
    return [
        k % size if isinstance(k, int) else k
        for k, size in zip(keys, shape, strict=True)
    ]
