"""A namespace whose functions add ONNX nodes: running a formula over it records a graph for fixed input shapes."""

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
from .zeros import RecordedZeros, expanded


def _unary(f: Callable[[spox.Var], spox.Var]) -> Callable:
    def method(self: Namespace, x: Recorded) -> Recorded:
        return Recorded(f(x.var))

    return method


def _binary(f: Callable[[spox.Var, spox.Var], spox.Var]) -> Callable:
    def method(self: Namespace, x: Any, y: Any) -> Recorded:
        x_var, y_var = _vars(x, y)
        return Recorded(f(x_var, y_var))

    return method


def _reduction(f: Callable) -> Callable:
    def method(
        self: Namespace, x: Recorded, axis: Axis = None, keepdims: bool = False
    ) -> Recorded:
        axes: Sequence[int] = range(x.ndim)
        if axis is not None:
            axes = ints(axis)
        if not axes:  # ONNX would reduce along all of them
            return x
        if isinstance(x, RecordedZeros) and f is op.reduce_sum:
            shape = _reduced_shape(x, axes, keepdims)
            return RecordedZeros(shape, x.dtype)
        axes_var = int64s(list(axes))
        return Recorded(f(x.var, axes_var, keepdims=int(keepdims)))

    return method


class OnnxRecorder(Namespace):
    """A namespace of recorded arrays: ONNX values computed from `argument`s and constants.

    `kernels` decides which nodes may be added; by default all that ONNX's schema allows.
    """

    def __init__(self, kernels: Kernels = ONNX):
        self.kernels = kernels

    abs = _unary(op.abs)
    exp = _unary(op.exp)
    log = _unary(op.log)
    sqrt = _unary(op.sqrt)
    sin = _unary(op.sin)
    cos = _unary(op.cos)
    tanh = _unary(op.tanh)
    sign = _unary(op.sign)
    asin = _unary(op.asin)
    acos = _unary(op.acos)
    atan = _unary(op.atan)
    floor = _unary(op.floor)
    erf = _unary(op.erf)
    isnan = _unary(op.isnan)
    logical_not = _unary(op.not_)
    sigmoid = _unary(op.sigmoid)
    relu = _unary(op.relu)
    reciprocal = _unary(op.reciprocal)
    logical_and = _binary(op.and_)
    logical_or = _binary(op.or_)
    pow = _binary(op.pow)
    fmod = _binary(lambda x, y: op.mod(x, y, fmod=1))
    maximum = _binary(lambda x, y: op.max([x, y]))
    minimum = _binary(lambda x, y: op.min([x, y]))
    matmul = _binary(op.matmul)
    sum = _reduction(op.reduce_sum)
    prod = _reduction(op.reduce_prod)
    max = _reduction(op.reduce_max)
    min = _reduction(op.reduce_min)
    mean = _reduction(op.reduce_mean)

    def where(self, condition: Recorded, x: Any, y: Any) -> Recorded:
        dtype = _common_dtype(x, y)
        if self.kernels.takes("Where", dtype.name):
            x_var, y_var = _vars(x, y)
            return Recorded(op.where(condition.var, x_var, y_var))
        if isinstance(x, Recorded):
            x = self.astype(x, "int32")
        if isinstance(y, Recorded):
            y = self.astype(y, "int32")
        wide = self.where(condition, x, y)
        return self.astype(wide, dtype)

    def astype(self, x: Recorded, dtype: Any) -> Recorded:
        name = self.kernels.dtype(name_of(dtype))
        if x.dtype.name == name:
            return x
        if isinstance(x, RecordedZeros):
            return RecordedZeros(x.shape, name)
        saturate = int(name not in FLOAT8)
        converted = op.cast(x.var, to=np.dtype(name), saturate=saturate)
        return Recorded(converted)

    def bitcast(self, x: Recorded, dtype: Any) -> Recorded:
        name = name_of(dtype)
        if "float" in x.dtype.name or "float" in name:
            raise Unsupported(
                f"ONNX opset {OPSET} has no node that takes the bits of {x.dtype} for {name}"
            )
        if x.dtype.name == name == "bool":
            return x
        return self.astype(x, dtype)  # keeps the bits of integers

    def asarray(self, value: Any, dtype: Any) -> Recorded:
        return const(value, dtype)

    def full(self, shape: Sequence[int], value: float, dtype: Any) -> Recorded:
        if value == 0:
            return RecordedZeros(shape, dtype)
        return expanded(const(value, dtype), shape)

    def arange(self, n: int, dtype: Any) -> Recorded:
        return const(np.arange(n, dtype=dtype))

    def reshape(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        sizes = list(shape)
        for axis, size in enumerate(shape):
            if size < 0:
                sizes[axis] = _remaining_size(x.shape, shape)
        if tuple(sizes) == x.shape:
            return x
        if isinstance(x, RecordedZeros):
            return RecordedZeros(sizes, x.dtype)
        return Recorded(op.reshape(x.var, int64s(sizes), allowzero=1))

    def permute_dims(self, x: Recorded, axes: Sequence[int]) -> Recorded:
        if isinstance(x, RecordedZeros):
            shape = [x.shape[axis] for axis in axes]
            return RecordedZeros(shape, x.dtype)
        return Recorded(op.transpose(x.var, perm=axes))

    def broadcast_to(self, x: Recorded, shape: Sequence[int]) -> Recorded:
        return expanded(x, shape)

    def concat(self, xs: Sequence[Recorded], axis: int = 0) -> Recorded:
        variables = [x.var for x in xs]
        return Recorded(op.concat(variables, axis=axis))

    def flip(self, x: Recorded, axis: int | Sequence[int]) -> Recorded:
        key = [slice(None)] * x.ndim
        for flipped in ints(axis):
            key[flipped % x.ndim] = slice(None, None, -1)
        return x[tuple(key)]

    def enlarge(self, x: Recorded, pads: Pads, value: float) -> Recorded:
        pads_var = int64s(_flat(pads))
        fill = const(value, x.dtype)
        return Recorded(op.pad(x.var, pads_var, fill.var))

    def argmax(self, x: Recorded, axis: int, keepdims: bool = False) -> Recorded:
        return Recorded(op.arg_max(x.var, axis=axis, keepdims=int(keepdims)))

    def cumulative_sum(self, x: Recorded, axis: int) -> Recorded:
        return Recorded(op.cumsum(x.var, int64s(axis)))

    def einsum(self, formula: str, *xs: Recorded) -> Recorded:
        variables = [x.var for x in xs]
        return Recorded(op.einsum(variables, equation=formula))

    def take(self, x: Recorded, indices: Recorded, axis: int = 0) -> Recorded:
        return Recorded(op.gather(x.var, indices.var, axis=axis))

    def take_along_axis(self, x: Recorded, indices: Recorded, axis: int) -> Recorded:
        return Recorded(op.gather_elements(x.var, indices.var, axis=axis))

    def scatter_add(
        self, x: Recorded, indices: Recorded, values: Recorded, axis: int
    ) -> Recorded:
        total = op.scatter_elements(
            x.var, indices.var, values.var, axis=axis, reduction="add"
        )
        return Recorded(total)

    def sort_descending(self, x: Recorded, axis: int) -> tuple[Recorded, Recorded]:
        length = int64s([x.shape[axis]])
        values, indices = op.top_k(x.var, length, axis=axis)
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
        y = op.conv(
            x.var,
            w.var,
            strides=strides,
            pads=_flat(pads),
            dilations=dilations,
            group=groups,
        )
        return Recorded(y)

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
        counts = y.shape[2:]
        kernel = w.shape[2:]
        extra = left_over(shape, counts, kernel, strides, pads, dilations)
        x = op.conv_transpose(
            y.var,
            w.var,
            strides=strides,
            pads=_flat(pads),
            dilations=dilations,
            group=groups,
            output_padding=extra,
        )
        return Recorded(x)

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
        """Computed as a matrix product: engines are slow at a Conv whose result is a small kernel."""
        if math.prod(kernel) > WIDE_KERNEL:
            return super().conv_weight(x, y, kernel, strides, pads, dilations, groups)
        return conv_weight(self, x, y, kernel, strides, pads, dilations, groups)

    def scan(
        self, f: Function, carry: tuple, xs: tuple, length: int
    ) -> tuple[tuple, tuple]:
        """Recorded as a Loop (spox 0.18.2 types the body of Scan wrongly), whose body loses the shapes."""
        shapes = [value.shape for value in carry]
        stack_shapes: list[tuple[int, ...]] = []

        def body(t: spox.Var, go: spox.Var, *state: spox.Var) -> list[spox.Var]:
            before = _reshaped(state, shapes)
            rows = []
            for x in xs:
                row = Recorded(op.gather(x.var, t))
                row_shape = x.shape[1:]
                rows.append(self.reshape(row, row_shape))
            after, ys = f(before, tuple(rows))
            stack_shapes[:] = [(length, *y.shape) for y in ys]
            results = [op.identity(go)]
            for value in (*after, *ys):
                results.append(value.var)
            return results

        count = int64s([length])
        true = op.const(np.array([True]))
        initial = [value.var for value in carry]
        results = op.loop(count, true, initial, body=body)
        values = _reshaped(results, [*shapes, *stack_shapes])
        carried = len(carry)
        return values[:carried], values[carried:]

    def cond(self, condition: Recorded, yes: Function, no: Function, *args: Any) -> Any:
        returns_tuple: list[bool] = []

        def branch(f: Function) -> Function:
            def run() -> list[spox.Var]:
                result = f(*args)
                is_tuple = isinstance(result, tuple)
                returns_tuple.append(is_tuple)
                results = result if is_tuple else (result,)
                # they may come from outside the branch
                return _identities(results)

            return run

        then_branch, else_branch = branch(yes), branch(no)
        variables = op.if_(
            condition.var, then_branch=then_branch, else_branch=else_branch
        )
        values = tuple(map(Recorded, variables))
        if returns_tuple[0]:
            return values
        return values[0]

    def while_loop(self, condition: Function, body: Function, state: tuple) -> tuple:
        """Recorded as a Loop, whose body loses the shapes; spox wants its condition as an array of one."""
        shapes = [x.shape for x in state]

        def goes_on(*values: Recorded) -> spox.Var:
            return self.reshape(condition(*values), (1,)).var

        def step(t: spox.Var, go: spox.Var, *variables: spox.Var) -> list[spox.Var]:
            values = _reshaped(variables, shapes)
            after = body(*values)
            return [goes_on(*after), *_identities(after)]

        initial = [x.var for x in state]
        results = op.loop(None, goes_on(*state), initial, body=step)
        return _reshaped(results, shapes)

    def require(self, condition: Recorded, message: str, x: Recorded) -> Recorded:
        """ONNX has no node that raises an error: an index beyond the end causes one."""
        zero = const(0, "int64")
        one = const(1, "int64")
        index = self.where(condition, zero, one)
        true = op.const(np.asarray([True]))
        inside = op.gather(true, index.var)
        return Recorded(op.where(inside, x.var, x.var))

    def host(
        self, function: Function, kinds: Sequence[Any], *xs: Recorded
    ) -> Sequence[Recorded]:
        raise Unsupported(
            "ONNX has no node that calls Python back: the session is split around such an operator"
        )

    # ONNX cannot take the bits of a float; its nodes are run one by one, and keep denormal numbers
    def widen(self, x: Recorded) -> Recorded:
        return self.astype(x, "float64")

    def narrow(self, x: Recorded) -> Recorded:
        size = self.astype(self.abs(x), "float32")
        size = self.where(self.isnan(x), math.nan, size)
        return size * self.astype(self.unit(x), "float32")  # Where makes 0 of -0

    def unit(self, x: Recorded) -> Recorded:
        is_negative = (x < 0) | (1.0 / x < 0)
        return self.where(is_negative, -1.0, self.ones_like(x))

    def exponent(self, x: Recorded) -> Recorded:
        """By halving: doubles that were float32 are from 2**-149 to 2**128."""
        rest = x * 2.0**150
        total = rest * 0.0 - 150.0
        for step in (256, 128, 64, 32, 16, 8, 4, 2, 1):
            is_larger = rest >= 2.0**step
            rest = self.where(is_larger, rest * 2.0**-step, rest)
            total = self.where(is_larger, total + step, total)
        return total

    def power_of_two(self, n: Recorded) -> Recorded:
        powers = const(np.ldexp(1.0, np.arange(-1022, 1024)))
        return self.take(powers, self.astype(n, "int64") + 1022)

    def hidden_zero(self, x: Recorded) -> Recorded:
        return x

    def apart(self, x: Recorded, zero: Recorded) -> Recorded:
        return x

    def shift_left(self, x: Recorded, by: Recorded | int) -> Recorded:
        if isinstance(by, int):
            return x * (1 << by)
        if self._can_shift(x):
            return Recorded(op.bit_shift(x.var, by.var, direction="LEFT"))
        wide = self.astype(x, "int64") * self._powers(by)
        return self.astype(wide, x.dtype)  # keeps the lowest bits

    def shift_right(self, x: Recorded, by: Recorded | int) -> Recorded:
        if isinstance(by, int):
            return x / (1 << by)  # of numbers that are not negative
        if self._can_shift(x):
            return Recorded(op.bit_shift(x.var, by.var, direction="RIGHT"))
        wide = self.astype(x, "int64")
        power = self._powers(by)
        divisor = self.where(power > 0, power, 1)
        quotient = wide // divisor
        all_shifted_out = self.where(wide < 0, -1, wide * 0)
        shifted = self.where(power > 0, quotient, all_shifted_out)
        return self.astype(shifted, x.dtype)

    def _can_shift(self, x: Recorded) -> bool:
        """Whether to record a BitShift; also for floats, so that ONNX refuses them."""
        if kind(x) == "float":
            return True
        return self.kernels.takes("BitShift", x.dtype.name)

    def _powers(self, exponents: Recorded) -> Recorded:
        """Powers of 2 in int64, of which the last is negative."""
        powers = const(1 << np.arange(64))
        return self.take(powers, self.astype(exponents, "int64"))


def _common_dtype(x: Any, y: Any) -> np.dtype:
    """The dtype of two values, of which one may be a Python number."""
    if isinstance(x, Recorded):
        return x.dtype
    return y.dtype


def _vars(x: Any, y: Any) -> tuple[spox.Var, spox.Var]:
    """Two values, of which one may be a Python number, as variables of their dtype."""
    dtype = _common_dtype(x, y)
    return const(x, dtype).var, const(y, dtype).var


def _identities(values: Sequence[Recorded]) -> list[spox.Var]:
    return [op.identity(value.var) for value in values]


def _remaining_size(old_shape: Sequence[int], new_shape: Sequence[int]) -> int:
    """The size of the one dimension of a new shape that is given as -1."""
    given_size = math.prod(size for size in new_shape if size >= 0)
    return math.prod(old_shape) // given_size


def _reduced_shape(x: Recorded, axes: Sequence[int], keepdims: bool) -> list[int]:
    reduced = {axis % x.ndim for axis in axes}
    shape = []
    for axis, size in enumerate(x.shape):
        if axis not in reduced:
            shape.append(size)
        elif keepdims:
            shape.append(1)
    return shape


def _reshaped(
    values: Sequence[spox.Var], shapes: Sequence[Sequence[int]]
) -> tuple[Recorded, ...]:
    """Values reshaped to these shapes, which ONNX's shape inference has lost."""
    reshaped = []
    for value, shape in zip(values, shapes, strict=True):
        variable = op.reshape(value, int64s(shape), allowzero=1)
        reshaped.append(Recorded(variable))
    return tuple(reshaped)


def _flat(pads: Pads) -> list[int]:
    """The pads as ONNX lists them: those before each axis, then those behind."""
    before = [low for low, _ in pads]
    behind = [high for _, high in pads]
    return before + behind
