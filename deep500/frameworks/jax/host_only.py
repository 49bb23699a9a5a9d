"""A mark for results that only the host can compute: a program with it is refused on every other platform.

Without it, XLA would take the address of a host's function into code for a GPU.
"""

from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from ...contracts.device import HOST
from ...errors import Unsupported

MARK = Primitive("deep500_host_only")


def on_host_only(result: jax.Array, name: str) -> jax.Array:
    """The result of the function of this name, unchanged."""
    return MARK.bind(result, name=name)


def refusal(name: str, platform: str) -> Unsupported:
    """The error for a function of the host in a program for another platform."""
    return Unsupported(
        f"{name} runs in the host's memory, and JAX cannot call it on {platform}: leave the device out "
        "(`--device cpu`)"
    )


def _same(result: Any, *, name: str) -> Any:
    return result


def _refuse(context: Any, result: Any, *, name: str) -> Any:
    platforms = [word for word in context.module_context.platforms if word != HOST]
    raise refusal(name, " or ".join(platforms))


MARK.def_impl(_same)
MARK.def_abstract_eval(_same)
batching.defvectorized(MARK)
mlir.register_lowering(MARK, _refuse)
mlir.register_lowering(MARK, lambda context, result, *, name: [result], platform=HOST)
