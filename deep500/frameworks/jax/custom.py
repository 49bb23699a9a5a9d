"""Custom operators in JAX: C++ by XLA's foreign function interface, Python by a callback."""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ...contracts.operator import Tensor
from ...custom.building import build
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp, one_or_all
from ...namespace import kind
from . import FRAMEWORK
from .executor import formula

TARGET = "deep500_custom_op"


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
            op, "backward", [Tensor(x.shape, x.dtype.name) for x in xs], (*grads, *xs, *ys)
        )
        return tuple(g if kind(x) == "float" else None for g, x in zip(found, xs, strict=True))

    run = jax.custom_vjp(lambda *xs: forward(*xs)[0])
    run.defvjp(forward, backward)
    return run if op.differentiable else lambda *xs: forward(*xs)[0]


def _call(op: CppOp, what: str, kinds: Sequence[Tensor], xs: Sequence[jax.Array]) -> tuple:
    _register()
    library = op.library(next((x.dtype.name for x in xs if "float" in x.dtype.name), "float32"))
    address = ctypes.cast(getattr(library, what), ctypes.c_void_p).value or 0
    made = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in kinds]
    call = jax.ffi.ffi_call(TARGET, made, vmap_method="sequential")
    numbers = {"function": address, "inputs": len(library.inputs), "outputs": len(library.outputs)}
    return tuple(call(*xs, **{name: np.int64(value) for name, value in numbers.items()}))


@cache
def _register() -> None:
    source = Path(__file__).with_suffix(".cpp")
    flags = ["-std=c++17", "-fvisibility=default", f"-I{jax.ffi.include_dir()}"]
    path = build(
        "custom operators for JAX",
        source.read_text(encoding="utf-8"),
        source.parent,
        flags,
        depends=jax.lib.__version__,
    )
    handler = getattr(ctypes.CDLL(str(path)), TARGET)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform="cpu")
