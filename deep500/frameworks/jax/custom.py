"""Custom operators in JAX: C++ functions are called by address, Python functions on NumPy arrays; see foreign.py."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax

from ...contracts.device import DeviceInfo
from ...contracts.operator import TensorSpec
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp, one_or_all
from ...namespace import Namespace, kind
from . import Jax
from .executor import formula
from .foreign import CUDA, call_foreign
from .platforms import refusal


@cache
def custom_op(framework: Jax, op: CustomOp) -> Callable[..., Any]:
    """Return a differentiable function of arrays, for jit, grad and vmap."""
    if not framework.on_cpu and not _runs_on(op, framework.device):
        raise refusal(op.name, framework.device)
    if isinstance(op, CppOp):
        run = _compiled(framework.xp, op)
    else:
        run = _interpreted(framework.xp, op)

    def call(*inputs: Any) -> Any:
        arrays = [jax.numpy.asarray(x) for x in inputs]
        return one_or_all(run(*arrays))

    return call


def _runs_on(op: CustomOp, device: str) -> bool:
    """Whether the operator has functions for this device, which is not the host's."""
    is_cuda = DeviceInfo(device).kind == CUDA
    return is_cuda and isinstance(op, CppOp) and op.runs_on_cuda


def _interpreted(xp: Namespace, op: CustomOp) -> Callable[..., tuple]:
    if op.differentiable:
        return lambda *xs: formula(xp, op.operator, xs)
    return lambda *xs: op.operator.run(xp, *xs)


def _compiled(xp: Namespace, op: CppOp) -> Callable[..., tuple]:
    def forward(*xs: jax.Array) -> tuple[tuple, tuple]:
        ys = _call(op, "forward", op.kinds(xs), xs, xp.threads)
        return ys, (xs, ys)

    def backward(saved: tuple, grads: tuple) -> tuple:
        xs, ys = saved
        kinds = [TensorSpec(x.shape, x.dtype.name) for x in xs]
        arguments = (*grads, *xs, *ys)
        gradients = [*_call(op, "backward", kinds, arguments, xp.threads)]
        for i, x in enumerate(xs):
            if kind(x) != "float":
                gradients[i] = None
        return tuple(gradients)

    def run(*xs: jax.Array) -> tuple:
        ys, _ = forward(*xs)
        return ys

    if not op.differentiable:
        return run
    differentiable = jax.custom_vjp(run)
    differentiable.defvjp(forward, backward)
    return differentiable


def _call(
    op: CppOp,
    function: str,
    kinds: Sequence[TensorSpec],
    xs: Sequence[jax.Array],
    threads: int,
) -> tuple:
    """The results of the operator's function "forward" or "backward", which have these shapes and dtypes."""
    library = op.library(_float_dtype(xs))
    return call_foreign(
        f"{op.name}.{function}",
        _address(getattr(library, function)),
        len(library.inputs),
        len(library.outputs),
        kinds,
        xs,
        threads,
        _address(getattr(library, f"{function}_cuda")),
    )


def _address(function: Any) -> int:
    """The address of a function of a library; 0 for one that is not there."""
    if function is None:
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _float_dtype(xs: Sequence[jax.Array]) -> str:
    """The dtype of the first float, for which the library is built."""
    for x in xs:
        if "float" in x.dtype.name:
            return x.dtype.name
    return "float32"
