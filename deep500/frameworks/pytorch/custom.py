"""Custom operators in PyTorch: real operators of torch.library, for autograd and torch.compile."""

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import is_grad_enabled
from torch._C import _are_functorch_transforms_active as transforming
from torch.compiler import is_compiling, is_dynamo_compiling
from torch.library import CustomOpDef

from ...custom.cpp import CppOp
from ...custom.operators import CustomOp, one_or_all
from ...custom.python import CustomPythonOp
from ...errors import Deep500Error
from . import FRAMEWORK
from .custom_cpp import define

NUMBERS = itertools.count()


@cache
def custom_op(op: CustomOp) -> CustomOpDef:
    """Return a differentiable function of tensors, which torch.library.opcheck takes as well."""
    number = next(NUMBERS)
    name = f"{op.name}_{number}"
    if isinstance(op, CppOp):
        return CompiledOperator(op, name)
    assert isinstance(op, CustomPythonOp)  # there are no others
    return PythonOperator(op, name)


class CompiledOperator(CustomOpDef):
    """An operator in C++, whose kernels and derivative are registered by C++, so that calls run no Python."""

    def __init__(self, op: CppOp, name: str):
        self._op = op
        self._namespace = "deep500"
        self._name = name
        n, m = _counts(op)
        schema = _schema(name, n, m)
        backward = f"{name}_backward"
        backward_schema = ""
        if op.differentiable:
            backward_schema = _schema(backward, _backward_inputs(op), n)
        define(op, name, schema, backward_schema)

        def fake(*xs: torch.Tensor) -> Any:
            kinds = op.kinds(xs)
            return one_or_all(_fakes(kinds, xs[0]))

        torch.library.register_fake(f"deep500::{name}", fake)
        if op.differentiable:
            torch.library.register_fake(f"deep500::{backward}", _fake_gradients(op))
        self._opoverload = getattr(torch.ops.deep500, name).default
        # what the overload calls after a detour through Python
        self._direct = self._opoverload._op

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if is_dynamo_compiling():
            return self._opoverload(*inputs)
        try:
            return self._direct(*inputs)
        except RuntimeError:
            # raises our own error if the inputs are wrong
            self._op.kinds(inputs)
            raise


class PythonOperator(CustomOpDef):
    """An operator in Python; eager calls go straight to autograd, compiled ones to the operator of torch.library."""

    def __init__(self, op: CustomPythonOp, name: str):
        n, m = _counts(op)
        schema = _arguments(n, m)
        super().__init__("deep500", name, schema, _run(op))
        self.register_kernel("cpu")(_run(op))

        def fake(*xs: torch.Tensor) -> Any:
            kinds = _kinds(op, xs)
            return one_or_all(_fakes(kinds, xs[0]))

        self.register_fake(fake)
        if op.differentiable:
            self._register_backward(op, f"{name}_backward", m)
            self._eager = _applied(_eager(op))
        else:
            self._eager = _checked(op)

    def _register_backward(self, op: CustomOp, name: str, m: int) -> None:
        def kernel(*tensors: torch.Tensor) -> Any:
            arrays = [*map(_array, tensors)]
            dys, xs, ys = arrays[:m], arrays[m:-m], arrays[-m:]
            gradients = op.gradients(dys, xs, ys)
            return one_or_all([*map(_tensor, gradients)])

        n = len(op.signature.inputs)
        schema = _arguments(_backward_inputs(op), n)
        gradients = CustomOpDef("deep500", name, schema, kernel)
        gradients.register_kernel("cpu")(kernel)
        gradients.register_fake(_fake_gradients(op))

        def setup(ctx: Any, inputs: tuple, output: Any) -> None:
            ctx.save_for_backward(*inputs, *_as_tuple(output))

        def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
            by_input = []
            for gradient in _as_tuple(gradients(*grads, *ctx.saved_tensors)):
                by_input.append(gradient if gradient.is_floating_point() else None)
            return tuple(by_input)

        self.register_autograd(backward, setup_context=setup)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if is_compiling() or transforming():
            return self._opoverload(*inputs)
        return self._eager(*inputs)


def _applied(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """The function's apply in C++, without the Python code around it, which only transforms of torch.func need."""
    return super(torch.autograd.Function, function).apply  # type: ignore[misc]


def _eager(op: CustomPythonOp) -> type[torch.autograd.Function]:
    """The operator as a function of autograd, as one would write it by hand."""
    signature = op.signature
    n, m = _counts(op)
    described = any(desc.shape is not None or desc.dtype for desc in signature.inputs)

    class Eager(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            if described or len(inputs) != n:
                op.kinds(inputs)
            arrays = [_array(x) for x in inputs]
            results = op.run(arrays)
            outputs = [_tensor(y) for y in results]
            ctx.arrays = arrays, results
            ctx.save_for_backward(*inputs, *outputs)
            return outputs[0] if m == 1 else tuple(outputs)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if is_grad_enabled():
                raise Deep500Error(
                    f"{op.name} has no second derivative: its backward is not differentiable"
                )
            # raises if a tensor was changed since or has been freed
            saved = ctx.saved_tensors
            # a second backward pass over a retained graph
            if ctx.arrays is None:
                arrays = [_array(x) for x in saved]
                ctx.arrays = arrays[:-m], arrays[-m:]
            dys = [_array(g) for g in grads]
            gradients = op.needed_gradients(ctx.needs_input_grad, dys, *ctx.arrays)
            ctx.arrays = None
            by_input: list[torch.Tensor | None] = []
            for dx in gradients:
                if dx is None or dx.dtype.kind in "iub":
                    by_input.append(None)
                else:
                    by_input.append(_tensor(dx))
            return tuple(by_input)

    if m > 1 or described or n > 1:
        return Eager
    return _one_to_one(op, Eager)


def _one_to_one(
    op: CustomPythonOp, general: type[torch.autograd.Function]
) -> type[torch.autograd.Function]:
    """A faster variant for one input and one output; cases that it does not cover go to the general function."""
    run = op.forward
    differentiate = op.backward
    array_type = np.ndarray
    from_numpy = torch.from_numpy

    class OneToOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            try:
                (x,) = inputs
                array = x.detach().numpy()
            # a dtype that NumPy has from ml_dtypes, or another number of inputs
            except (TypeError, ValueError):
                return general.forward(ctx, *inputs)
            y = run((array,))
            if type(y) is not array_type or y.base is not None or y is array:
                (y,) = op.outputs_of(y, (array,))
            output = from_numpy(y)
            ctx.arrays = (array,), (y,)
            ctx.save_for_backward(x, output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if (
                ctx.arrays is None
                or is_grad_enabled()
                or grads[0].dtype is torch.bfloat16
            ):
                return general.backward(ctx, *grads)
            _ = ctx.saved_tensors
            dys = (grads[0].numpy(),)
            xs, ys = ctx.arrays
            ctx.arrays = None
            dx = differentiate(dys, xs, ys)
            x = xs[0]
            if (
                type(dx) is not array_type
                or dx.base is not None
                or dx.shape != x.shape
                or dx.dtype != x.dtype
                or dx is dys[0]
                or dx is x
                or dx is ys[0]
            ):
                (dx,) = op.gradients_of(dx, dys, xs, ys)
            return from_numpy(dx)

    return OneToOne


def _checked(op: CustomOp) -> Callable[..., Any]:
    run = _run(op)

    def call(*inputs: torch.Tensor) -> Any:
        op.kinds(inputs)
        return run(*inputs)

    return call


def _run(op: CustomOp) -> Callable[..., Any]:
    def run(*inputs: torch.Tensor) -> Any:
        arrays = [*map(_array, inputs)]
        results = op.run(arrays)
        return one_or_all([*map(_tensor, results)])

    return run


def _array(tensor: torch.Tensor) -> np.ndarray:
    """An array over the tensor's memory."""
    try:
        return tensor.detach().numpy()
    except TypeError:  # a dtype that NumPy has from ml_dtypes
        return FRAMEWORK.array(tensor)


def _tensor(array: np.ndarray) -> torch.Tensor:
    try:
        return torch.from_numpy(array)
    except TypeError:
        return FRAMEWORK.tensor(array)


def _kinds(op: CustomOp, xs: Sequence[torch.Tensor]) -> Any:
    """The shapes and dtypes of the outputs; sizes are made integers, since Python code may do anything with them."""
    tensors = []
    for x in xs:
        shape = [int(n) for n in x.shape]
        tensors.append(torch.empty(shape, dtype=x.dtype, device="meta"))
    return op.kinds(tensors)


def _fakes(kinds: Any, like: torch.Tensor) -> list[torch.Tensor]:
    tensors = []
    for kind in kinds:
        dtype = getattr(torch, kind.dtype)
        tensors.append(like.new_empty(kind.shape, dtype=dtype))
    return tensors


def _fake_gradients(op: CustomOp) -> Callable[..., Any]:
    n, m = _counts(op)

    def fake(*tensors: torch.Tensor) -> Any:
        inputs = tensors[m : m + n]
        return one_or_all([x.new_empty(x.shape) for x in inputs])

    return fake


def _counts(op: CustomOp) -> tuple[int, int]:
    """The numbers of inputs and of outputs."""
    return len(op.signature.inputs), len(op.signature.outputs)


def _as_tuple(result: Any) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def _backward_inputs(op: CustomOp) -> int:
    """The number of tensors that a backward operator takes: gradients of the outputs, inputs and outputs."""
    n, m = _counts(op)
    return n + 2 * m


def _schema(name: str, inputs: int, outputs: int) -> str:
    return name + _arguments(inputs, outputs)


def _arguments(inputs: int, outputs: int) -> str:
    parameters = ", ".join([f"Tensor x{i}" for i in range(inputs)])
    returned = "Tensor"
    if outputs != 1:
        tensors = ", ".join(["Tensor"] * outputs)
        returned = f"({tensors})"
    return f"({parameters}) -> {returned}"
