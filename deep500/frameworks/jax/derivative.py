"""JAX's own derivative of a function, from the values that its forward pass leaves behind."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...contracts.calls import Call, results


def derivative(
    function: Callable, arrays: Sequence[jax.Array], grads: Sequence[jax.Array | None]
) -> Call:
    """One call of what jax.vjp returns; forward is not part of the call."""
    smooth = [i for i, a in enumerate(arrays) if jnp.issubdtype(a.dtype, jnp.floating)]
    used = [i for i, g in enumerate(grads) if g is not None]

    def of_floats(*values: jax.Array) -> tuple:
        every = list(arrays)
        for i, value in zip(smooth, values, strict=True):
            every[i] = value
        made = results(function(*every))
        return tuple(made[i] for i in used if i < len(made))

    made, pull = jax.vjp(of_floats, *(arrays[i] for i in smooth))

    def outputs(found: Sequence[Any]) -> list:
        given = dict(zip(smooth, map(np.asarray, found), strict=True))
        return [given.get(i) for i in range(len(arrays))]

    def bind(values: Sequence[Any]) -> tuple:
        return (tuple(values[i] for i in used)[: len(made)],)

    return Call(pull, bind(grads), outputs, bind)
