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
    """A differentiable function of tensors, which torch.library.opcheck takes as well."""
    name = f"{op.name}_{next(NUMBERS)}"
    if isinstance(op, CppOp):
        return CompiledOperator(op, name)
    assert isinstance(op, CustomPythonOp)  # there are no others
    return PythonOperator(op, name)


class CompiledOperator(CustomOpDef):
    """An operator in C++: its kernels and its derivative are registered by C++, so that calls pass no Python."""

    def __init__(self, op: CppOp, name: str):
        self._op, self._namespace, self._name = op, "deep500", name
        back = _schema(
            f"{name}_backward", _backward_inputs(op), len(op.signature.inputs)
        )
        define(
            op,
            name,
            _schema(name, len(op.signature.inputs), len(op.signature.outputs)),
            back if op.differentiable else "",
        )
        torch.library.register_fake(
            f"deep500::{name}", lambda *xs: one_or_all(_fakes(op.kinds(xs), xs[0]))
        )
        if op.differentiable:
            torch.library.register_fake(
                f"deep500::{name}_backward", _fake_gradients(op)
            )
        self._opoverload = getattr(torch.ops.deep500, name).default
        self._direct = (
            self._opoverload._op
        )  # what the overload calls after a detour through Python

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if is_dynamo_compiling():
            return self._opoverload(*inputs)
        try:
            return self._direct(*inputs)
        except RuntimeError:
            self._op.kinds(inputs)  # says what is wrong with them in our words
            raise


class PythonOperator(CustomOpDef):
    """An operator in Python. Eager calls take autograd's short way, compiled ones the operator of the library."""

    def __init__(self, op: CustomPythonOp, name: str):
        n, m = len(op.signature.inputs), len(op.signature.outputs)
        super().__init__("deep500", name, _arguments(n, m), _run(op))
        self.register_kernel("cpu")(_run(op))
        self.register_fake(lambda *xs: one_or_all(_fakes(_kinds(op, xs), xs[0])))
        if op.differentiable:
            self._register_backward(op, f"{name}_backward", m)
        self._eager = _applied(_eager(op)) if op.differentiable else _checked(op)

    def _register_backward(self, op: CustomOp, name: str, m: int) -> None:
        def kernel(*given: torch.Tensor) -> Any:
            arrays = [*map(_array, given)]
            made = op.gradients(arrays[:m], arrays[m:-m], arrays[-m:])
            return one_or_all([_tensor(g) for g in made])

        gradients = CustomOpDef(
            "deep500",
            name,
            _arguments(_backward_inputs(op), len(op.signature.inputs)),
            kernel,
        )
        gradients.register_kernel("cpu")(kernel)
        gradients.register_fake(_fake_gradients(op))

        def setup(ctx: Any, inputs: tuple, output: Any) -> None:
            ctx.save_for_backward(
                *inputs, *(output if isinstance(output, tuple) else (output,))
            )

        def backward(ctx: Any, *grads: torch.Tensor) -> tuple:
            found = gradients(*grads, *ctx.saved_tensors)
            return tuple(
                g if g.is_floating_point() else None
                for g in (found if isinstance(found, tuple) else (found,))
            )

        self.register_autograd(backward, setup_context=setup)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        if is_compiling() or transforming():
            return self._opoverload(*inputs)
        return self._eager(*inputs)


def _applied(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """Its apply in C++, without what Function.apply does in Python before: that is for transforms of torch.func."""
    return super(torch.autograd.Function, function).apply  # type: ignore[misc]


def _eager(op: CustomPythonOp) -> type[torch.autograd.Function]:
    """The operator as anyone would write it by hand for autograd."""
    signature, m = op.signature, len(op.signature.outputs)
    described = any(desc.shape is not None or desc.dtype for desc in signature.inputs)

    class Eager(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            if described or len(inputs) != len(signature.inputs):
                op.kinds(inputs)
            arrays = [_array(x) for x in inputs]
            results = op.run(arrays)
            made = [_tensor(y) for y in results]
            ctx.arrays = arrays, results
            ctx.save_for_backward(*inputs, *made)
            return made[0] if m == 1 else tuple(made)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if is_grad_enabled():
                raise Deep500Error(
                    f"{op.name} has no second derivative: its backward is not differentiable"
                )
            saved = (
                ctx.saved_tensors
            )  # refuses what was changed since, and what has been freed
            if ctx.arrays is None:  # the graph was kept for another turn
                arrays = [_array(x) for x in saved]
                ctx.arrays = arrays[:-m], arrays[-m:]
            made = op.gradients([_array(g) for g in grads], *ctx.arrays)
            ctx.arrays = None
            return tuple(
                [_tensor(g) if g.dtype.kind not in "iub" else None for g in made]
            )

    return (
        Eager
        if m > 1 or described or len(signature.inputs) > 1
        else _one_to_one(op, Eager)
    )


def _one_to_one(
    op: CustomPythonOp, general: type[torch.autograd.Function]
) -> type[torch.autograd.Function]:
    """The same for one input and one output, where every microsecond is a share of the whole."""
    run, differentiate, array_type, from_numpy = (
        op.forward,
        op.backward,
        np.ndarray,
        torch.from_numpy,
    )

    class OneToOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: torch.Tensor) -> Any:
            try:
                (x,) = inputs
                array = x.detach().numpy()
            except (
                TypeError,
                ValueError,
            ):  # a dtype that NumPy has from ml_dtypes, another number of inputs
                return general.forward(ctx, *inputs)
            y = run((array,))
            if type(y) is not array_type or y.base is not None or y is array:
                (y,) = op.outputs_of(y, (array,))
            made = from_numpy(y)
            ctx.arrays = (array,), (y,)
            ctx.save_for_backward(x, made)
            return made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            if (
                ctx.arrays is None
                or is_grad_enabled()
                or grads[0].dtype is torch.bfloat16
            ):
                return general.backward(ctx, *grads)
            _ = ctx.saved_tensors
            given, (xs, ys) = (grads[0].numpy(),), ctx.arrays
            ctx.arrays = None
            made, x = differentiate(given, xs, ys), xs[0]
            if (
                type(made) is not array_type
                or made.base is not None
                or made.shape != x.shape
                or made.dtype != x.dtype
                or made is given[0]
                or made is x
                or made is ys[0]
            ):
                (made,) = op.gradients_of(made, given, xs, ys)
            return from_numpy(made)

    return OneToOne


def _checked(op: CustomOp) -> Callable[..., Any]:
    run = _run(op)

    def call(*inputs: torch.Tensor) -> Any:
        op.kinds(inputs)
        return run(*inputs)

    return call


def _run(op: CustomOp) -> Callable[..., Any]:
    return lambda *inputs: one_or_all(
        [_tensor(y) for y in op.run([_array(x) for x in inputs])]
    )


def _array(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's memory."""
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
    """Python code may do anything with a shape: the sizes that are compiled for are numbers."""
    return op.kinds(
        [
            torch.empty([int(n) for n in x.shape], dtype=x.dtype, device="meta")
            for x in xs
        ]
    )


def _fakes(kinds: Any, like: torch.Tensor) -> list[torch.Tensor]:
    return [
        like.new_empty(kind.shape, dtype=getattr(torch, kind.dtype)) for kind in kinds
    ]


def _fake_gradients(op: CustomOp) -> Callable[..., Any]:
    n, m = len(op.signature.inputs), len(op.signature.outputs)
    return lambda *given: one_or_all([x.new_empty(x.shape) for x in given[m : m + n]])


def _backward_inputs(op: CustomOp) -> int:
    return len(op.signature.inputs) + 2 * len(op.signature.outputs)


def _schema(name: str, inputs: int, outputs: int) -> str:
    return name + _arguments(inputs, outputs)


def _arguments(inputs: int, outputs: int) -> str:
    made = "Tensor" if outputs == 1 else f"({', '.join(['Tensor'] * outputs)})"
    return f"({', '.join(f'Tensor x{i}' for i in range(inputs))}) -> {made}"
