"""Custom operators in JAX: C++ by its address, Python on NumPy arrays; see foreign.py."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax

from ...contracts.operator import Tensor
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp, one_or_all
from ...namespace import kind
from . import FRAMEWORK
from .executor import formula
from .foreign import call_foreign


@cache
def custom_op(op: CustomOp) -> Callable[..., Any]:
    """A differentiable function of arrays, for jit, grad and vmap."""
    run = _foreign(op) if isinstance(op, CppOp) else _called_back(op)

    def call(*inputs: Any) -> Any:
        return one_or_all(run(*(jax.numpy.asarray(x) for x in inputs)))

    return call


def _called_back(op: CustomOp) -> Callable[..., tuple]:
    if op.differentiable:
        return lambda *xs: formula(FRAMEWORK.xp, op.operator, xs)
    return lambda *xs: op.operator.run(FRAMEWORK.xp, *xs)


def _foreign(op: CppOp) -> Callable[..., tuple]:
    def forward(*xs: jax.Array) -> tuple[tuple, tuple]:
        made = _call(op, "forward", op.kinds(xs), xs)
        return made, (xs, made)

    def backward(kept: tuple, grads: tuple) -> tuple:
        xs, ys = kept
        found = _call(
            op,
            "backward",
            [Tensor(x.shape, x.dtype.name) for x in xs],
            (*grads, *xs, *ys),
        )
        return tuple(
            g if kind(x) == "float" else None for g, x in zip(found, xs, strict=True)
        )

    run = jax.custom_vjp(lambda *xs: forward(*xs)[0])
    run.defvjp(forward, backward)
    return run if op.differentiable else lambda *xs: forward(*xs)[0]


def _call(
    op: CppOp, what: str, kinds: Sequence[Tensor], xs: Sequence[jax.Array]
) -> tuple:
    library = op.library(
        next((x.dtype.name for x in xs if "float" in x.dtype.name), "float32")
    )
    address = ctypes.cast(getattr(library, what), ctypes.c_void_p).value or 0
    return call_foreign(address, len(library.inputs), len(library.outputs), kinds, xs)
