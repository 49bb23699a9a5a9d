"""JAX's own derivative of a function, from the values that its forward pass saves."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...contracts.calls import Call
from ...contracts.calls import results as as_tuple


def derivative(
    function: Callable,
    arrays: Sequence[jax.Array],
    grads: Sequence[jax.Array | None],
) -> Call:
    """Return a call of the function that jax.vjp returns; the forward pass is not part of the call."""
    floats = []
    for i, array in enumerate(arrays):
        if jnp.issubdtype(array.dtype, jnp.floating):
            floats.append(i)
    used = [i for i, grad in enumerate(grads) if grad is not None]

    def of_floats(*values: jax.Array) -> tuple:
        inputs = list(arrays)
        for i, value in zip(floats, values, strict=True):
            inputs[i] = value
        results = as_tuple(function(*inputs))
        return tuple([results[i] for i in used if i < len(results)])

    variables = [arrays[i] for i in floats]
    targets, pull = jax.vjp(of_floats, *variables)

    def outputs(gradients: Sequence[Any]) -> list:
        by_input: list[np.ndarray | None] = [None] * len(arrays)
        for i, gradient in zip(floats, gradients, strict=True):
            by_input[i] = np.asarray(gradient)
        return by_input

    def bind(values: Sequence[Any]) -> tuple:
        used_grads = [values[i] for i in used]
        return (tuple(used_grads[: len(targets)]),)

    return Call(pull, bind(grads), outputs, bind)
