"""Custom operators in JAX: C++ functions are called by address, Python functions on NumPy arrays; see foreign.py."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax

from ...contracts.operator import TensorSpec
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp, one_or_all
from ...namespace import kind
from . import FRAMEWORK
from .executor import formula
from .foreign import call_foreign


@cache
def custom_op(op: CustomOp) -> Callable[..., Any]:
    """Return a differentiable function of arrays, for jit, grad and vmap."""
    if isinstance(op, CppOp):
        run = _compiled(op)
    else:
        run = _interpreted(op)

    def call(*inputs: Any) -> Any:
        arrays = [jax.numpy.asarray(x) for x in inputs]
        return one_or_all(run(*arrays))

    return call


def _interpreted(op: CustomOp) -> Callable[..., tuple]:
    if op.differentiable:
        return lambda *xs: formula(FRAMEWORK.xp, op.operator, xs)
    return lambda *xs: op.operator.run(FRAMEWORK.xp, *xs)


def _compiled(op: CppOp) -> Callable[..., tuple]:
    def forward(*xs: jax.Array) -> tuple[tuple, tuple]:
        ys = _call(op, "forward", op.kinds(xs), xs)
        return ys, (xs, ys)

    def backward(saved: tuple, grads: tuple) -> tuple:
        xs, ys = saved
        kinds = [TensorSpec(x.shape, x.dtype.name) for x in xs]
        arguments = (*grads, *xs, *ys)
        gradients = [*_call(op, "backward", kinds, arguments)]
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
) -> tuple:
    """The results of the operator's function "forward" or "backward", which have these shapes and dtypes."""
    library = op.library(_float_dtype(xs))
    pointer = ctypes.cast(getattr(library, function), ctypes.c_void_p)
    address = pointer.value or 0
    return call_foreign(
        address,
        len(library.inputs),
        len(library.outputs),
        kinds,
        xs,
        FRAMEWORK.xp.threads,
    )


def _float_dtype(xs: Sequence[jax.Array]) -> str:
    """The dtype of the first float, for which the library is built."""
    for x in xs:
        if "float" in x.dtype.name:
            return x.dtype.name
    return "float32"
