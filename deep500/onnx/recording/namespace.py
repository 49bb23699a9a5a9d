"""The namespace that writes ONNX: running a formula over it records a graph, one per shape of the inputs."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import spox
import spox.opset.ai.onnx.v21 as op

from ...contracts.dtypes import FLOAT8, name_of
from ...errors import Unsupported
from ...namespace import (
    Axis,
    Function,
    Namespace,
    Pads,
    ints,
    kind,
    left_over,
)
from .arrays import Recorded, const, int64s
from .convolving import WIDE_KERNEL, conv_weight
from .kernels import ONNX, OPSET, Kernels
from .zeros import Zeros, expanded


def _unary(f: Callable[[spox.Var], spox.Var]) -> Callable:
    def method(self: Namespace, x: Recorded) -> Recorded:
        return Recorded(f(x.var))

    return method


def _binary(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(self: Namespace, x: Any, y: Any) -> Recorded:
        return Recorded(f(*_vars(x, y)))

    return method


def _reduction(f: Callable) -> Callable:
    def method(
        self: Namespace, x: Recorded, axis: Axis = None, keepdims: bool = False
    ) -> Recorded:
        axes = range(x.ndim) if axis is None else ints(axis)
        if not axes:  # ONNX takes no axes for all of them
            return x
        if isinstance(x, Zeros) and f is op.reduce_sum:
            return Zeros(_reduced_shape(x, axes, keepdims), x.dtype)
        return Recorded(f(x.var, int64s(list(axes)), keepdims=int(keepdims)))

    return method


class Recorder(Namespace):
    """Arrays are Recorded: ONNX values that an `argument` or a constant started.

    `kernels` says which nodes may be written; without them, all that ONNX's schema allows.
    """

    def __init__(self, kernels: Kernels = ONNX):
        self.kernels = kernels

    abs, exp, log, sqrt = map(_unary, (op.abs, op.exp, op.log, op.sqrt))
    sin, cos, tanh, sign = map(_unary, (op.sin, op.cos, op.tanh, op.sign))
    asin, acos, atan = map(_unary, (op.asin, op.acos, op.atan))
    floor, erf, isnan, logical_not = map(_unary, (op.floor, op.erf, op.isnan, op.not_))
    sigmoid, relu, reciprocal = map(_unary, (op.sigmoid, op.relu, op.reciprocal))
    logical_and, logical_or, pow = map(_binary, (op.and_, op.or_, op.pow))
    fmod = _binary(lambda x, y: op.mod(x, y, fmod=1))
    maximum = _binary(lambda x, y: op.max([x, y]))
    minimum = _binary(lambda x, y: op.min([x, y]))
    matmul = _binary(op.matmul)
    sum, prod = map(_reduction, (op.reduce_sum, op.reduce_prod))
    max, min, mean = map(_reduction, (op.reduce_max, op.reduce_min, op.reduce_mean))

    def where(self, condition: Recorded, x: Any, y: Any) -> Recorded:
        narrow = x.dtype if isinstance(x, Recorded) else y.dtype
        if self.kernels.takes("Where", narrow.name):
            return Recorded(op.where(condition.var, *_vars(x, y)))
        wide = [
            self.astype(v, "int32") if isinstance(v, Recorded) else v for v in (x, y)
        ]
        return self.astype(self.where(condition, *wide), narrow)

    def astype(self, x: Recorded, dtype: Any) -> Recorded:
        name = self.kernels.dtype(name_of(dtype))
        if x.dtype.name == name:
            return x
        if isinstance(x, Zeros):
            return Zeros(x.shape, name)
        return Recorded(
            op.cast(x.var, to=np.dtype(name), saturate=int(name not in FLOAT8))
        )

    def bitcast(self, x: Recorded, dtype: Any) -> Recorded:
        name = name_of(dtype)
        if "float" in x.dtype.name or "float" in name:
            raise Unsupported(
                f"ONNX opset {OPSET} has no node that takes the bits of {x.dtype} for {name}"
            )
        if x.dtype.name == name == "bool":
            return x
        return self.astype(x, dtype)  # the bits of whole numbers stay

    def asarray(self, value: Any, dtype: Any) -> Recorded:
        return const(value, dtype)

    def full(self, shape: Sequence[int], value: float, dtype: Any) -> Recorded:
        if value == 0:
            return Zeros(shape, dtype)
        return expanded(const(value, dtype), shape)

    def arange(self, n: int, dtype: Any) -> Recorded:
        return const(np.arange(n, dtype=dtype))

    def reshape(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        known = math.prod(n for n in shape if n >= 0)
        full = [math.prod(x.shape) // known if n < 0 else n for n in shape]
        if tuple(full) == x.shape:
            return x
        if isinstance(x, Zeros):
            return Zeros(full, x.dtype)
        return Recorded(op.reshape(x.var, int64s(full), allowzero=1))

    def permute_dims(self, x: Recorded, axes: Sequence[int]) -> Recorded:
        if isinstance(x, Zeros):
            return Zeros([x.shape[axis] for axis in axes], x.dtype)
        return Recorded(op.transpose(x.var, perm=axes))

    def broadcast_to(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        return expanded(x, shape)

    def concat(self, xs: Sequence[Recorded], axis: int = 0) -> Recorded:
        return Recorded(op.concat([x.var for x in xs], axis=axis))

    def flip(self, x: Recorded, axis: int | Sequence[int]) -> Recorded:
        axes = {a % x.ndim for a in ints(axis)}
        return x[
            tuple(slice(None, None, -1 if a in axes else None) for a in range(x.ndim))
        ]

    def enlarge(self, x: Recorded, pads: Pads, value: float) -> Recorded:
        return Recorded(op.pad(x.var, int64s(_flat(pads)), const(value, x.dtype).var))

    def argmax(self, x: Recorded, axis: int, keepdims: bool = False) -> Recorded:
        return Recorded(op.arg_max(x.var, axis=axis, keepdims=int(keepdims)))

    def cumulative_sum(self, x: Recorded, axis: int) -> Recorded:
        return Recorded(op.cumsum(x.var, int64s(axis)))

    def einsum(self, formula: str, *xs: Recorded) -> Recorded:
        return Recorded(op.einsum([x.var for x in xs], equation=formula))

    def take(self, x: Recorded, indices: Recorded, axis: int = 0) -> Recorded:
        return Recorded(op.gather(x.var, indices.var, axis=axis))

    def take_along_axis(self, x: Recorded, indices: Recorded, axis: int) -> Recorded:
        return Recorded(op.gather_elements(x.var, indices.var, axis=axis))

    def scatter_add(
        self, x: Recorded, indices: Recorded, values: Recorded, axis: int
    ) -> Recorded:
        return Recorded(
            op.scatter_elements(
                x.var, indices.var, values.var, axis=axis, reduction="add"
            )
        )

    def sort_descending(self, x: Recorded, axis: int) -> tuple[Recorded, Recorded]:
        values, indices = op.top_k(x.var, int64s([x.shape[axis]]), axis=axis)
        return Recorded(values), Recorded(indices)

    def conv(
        self,
        x: Recorded,
        w: Recorded,
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Recorded:
        if not self.kernels.takes("Conv", x.dtype.name):
            return super().conv(x, w, strides, pads, dilations, groups)
        return Recorded(
            op.conv(
                x.var,
                w.var,
                strides=strides,
                pads=_flat(pads),
                dilations=dilations,
                group=groups,
            )
        )

    def conv_transpose(
        self,
        y: Recorded,
        w: Recorded,
        shape: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Recorded:
        if not self.kernels.takes("ConvTranspose", y.dtype.name):
            return super().conv_transpose(y, w, shape, strides, pads, dilations, groups)
        extra = left_over(shape, y.shape[2:], w.shape[2:], strides, pads, dilations)
        return Recorded(
            op.conv_transpose(
                y.var,
                w.var,
                strides=strides,
                pads=_flat(pads),
                dilations=dilations,
                group=groups,
                output_padding=extra,
            )
        )

    def conv_weight(
        self,
        x: Recorded,
        y: Recorded,
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Pads,
        dilations: Sequence[int],
        groups: int = 1,
    ) -> Recorded:
        """As a product of matrices: a Conv whose result is a small kernel is slow on engines."""
        if math.prod(kernel) > WIDE_KERNEL:
            return super().conv_weight(x, y, kernel, strides, pads, dilations, groups)
        return conv_weight(self, x, y, kernel, strides, pads, dilations, groups)

    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        """A Loop (spox 0.18.2 types the body of Scan wrongly), whose body forgets the shapes."""
        shapes = [c.shape for c in carry]
        row_shapes: list[tuple[int, ...]] = []

        def body(t: spox.Var, go: spox.Var, *state: spox.Var) -> list[spox.Var]:
            before = _reshaped(state, shapes)
            rows = tuple(
                self.reshape(Recorded(op.gather(x.var, t)), x.shape[1:]) for x in xs
            )
            after, ys = f(before, rows)
            row_shapes[:] = [y.shape for y in ys]
            return [op.identity(go), *(v.var for v in (*after, *ys))]

        out = op.loop(
            int64s([length]),
            op.const(np.array([True])),
            [c.var for c in carry],
            body=body,
        )
        values = _reshaped(out, [*shapes, *((length, *shape) for shape in row_shapes)])
        return values[: len(carry)], values[len(carry) :]

    def cond(self, condition: Recorded, yes: Function, no: Function, *args: Any) -> Any:
        returns_tuple: list[bool] = []

        def branch(f: Function) -> Function:
            def run() -> list[spox.Var]:
                result = f(*args)
                returns_tuple.append(isinstance(result, tuple))
                results = result if isinstance(result, tuple) else (result,)
                return [
                    op.identity(y.var) for y in results
                ]  # y may come from outside the branch

            return run

        variables = op.if_(
            condition.var, then_branch=branch(yes), else_branch=branch(no)
        )
        values = tuple(map(Recorded, variables))
        return values if returns_tuple[0] else values[0]

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        """A Loop, whose body forgets the shapes; spox has its condition as an array of one."""
        shapes = [x.shape for x in state]

        def going(*values: Recorded) -> spox.Var:
            return self.reshape(condition(*values), (1,)).var

        def step(t: spox.Var, go: spox.Var, *values: spox.Var) -> list[spox.Var]:
            after = body(*_reshaped(values, shapes))
            return [going(*after), *(op.identity(x.var) for x in after)]

        out = op.loop(None, going(*state), [x.var for x in state], body=step)
        return _reshaped(out, shapes)

    def require(self, condition: Recorded, message: str, x: Recorded) -> Recorded:
        """ONNX has no errors of its own: an index beyond the end makes one."""
        index = self.where(condition, const(0, "int64"), const(1, "int64"))
        inside = op.gather(op.const(np.asarray([True])), index.var)
        return Recorded(op.where(inside, x.var, x.var))

    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Recorded
    ) -> Sequence[Recorded]:
        raise Unsupported(
            "ONNX has no node that calls Python back: the session is split around such an operator"
        )

    def shift_left(self, x: Recorded, by: Recorded | int) -> Recorded:
        if isinstance(by, int):
            return x * (1 << by)
        if (
            self.kernels.takes("BitShift", x.dtype.name) or kind(x) == "float"
        ):  # which ONNX refuses
            return Recorded(op.bit_shift(x.var, by.var, direction="LEFT"))
        wide = self.astype(x, "int64") * self._powers(by)
        return self.astype(wide, x.dtype)  # the lowest bits stay

    def shift_right(self, x: Recorded, by: Recorded | int) -> Recorded:
        if isinstance(by, int):
            return x / (1 << by)  # of numbers that are not negative
        if self.kernels.takes("BitShift", x.dtype.name) or kind(x) == "float":
            return Recorded(op.bit_shift(x.var, by.var, direction="RIGHT"))
        wide, power = self.astype(x, "int64"), self._powers(by)
        quotient = wide // self.where(power > 0, power, 1)
        all_shifted_out = self.where(wide < 0, -1, wide * 0)
        return self.astype(self.where(power > 0, quotient, all_shifted_out), x.dtype)

    def _powers(self, by: Recorded) -> Recorded:
        """Powers of 2 in int64, of which the last is negative."""
        return self.take(const(1 << np.arange(64)), self.astype(by, "int64"))


def _vars(x: Any, y: Any) -> tuple[spox.Var, spox.Var]:
    """Two values, of which one may be a Python number."""
    dtype = x.dtype if isinstance(x, Recorded) else y.dtype
    return const(x, dtype).var, const(y, dtype).var


def _reduced_shape(x: Recorded, axes: Sequence[int], keepdims: bool) -> list[int]:
    gone = {axis % x.ndim for axis in axes}
    if keepdims:
        return [1 if axis in gone else size for axis, size in enumerate(x.shape)]
    return [size for axis, size in enumerate(x.shape) if axis not in gone]


def _reshaped(
    values: Sequence[spox.Var], shapes: Sequence[Sequence[int]]
) -> tuple[Recorded, ...]:
    """Values whose shapes ONNX has forgotten, with their shapes."""
    pairs = zip(values, shapes, strict=True)
    return tuple(
        Recorded(op.reshape(value, int64s(shape), allowzero=1))
        for value, shape in pairs
    )


def _flat(pads: Pads) -> list[int]:
    """ONNX lists all beginnings, then all ends."""
    return [lo for lo, _ in pads] + [hi for _, hi in pads]
