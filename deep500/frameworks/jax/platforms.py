"""A mark for results that only some platforms compute: a program with it is refused on every other one.

Without it, XLA would take the address of a host's function into code for a GPU.
"""

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from ...contracts.device import HOST
from ...errors import Unsupported

MARK = Primitive("deep500_platforms")


def only_on(result: jax.Array, name: str, platforms: Sequence[str] = (HOST,)) -> Any:
    """The result of the function of this name, unchanged."""
    return MARK.bind(result, name=name, platforms=tuple(platforms))


def refusal(name: str, platform: str) -> Unsupported:
    """The error for a function of the host in a program for another platform."""
    return Unsupported(
        f"{name} runs in the host's memory, and JAX cannot call it on {platform}: write forward_cuda and "
        "backward_cuda, or leave the device out (`--device cpu`)"
    )


def _same(result: Any, **_: Any) -> Any:
    return result


def _lowered(
    context: Any, result: Any, *, name: str, platforms: tuple[str, ...]
) -> list[Any]:
    for platform in context.module_context.platforms:
        if platform not in platforms:
            raise refusal(name, platform)
    return [result]


MARK.def_impl(_same)
MARK.def_abstract_eval(_same)
batching.defvectorized(MARK)
mlir.register_lowering(MARK, _lowered)
