"""TensorFlow's own derivative of a function, from the tape that TensorFlow records."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.calls import Call
from ...contracts.calls import results as as_tuple


def derivative(function: Callable, arrays: Sequence[Any], grads: Sequence[Any]) -> Call:
    """Return a call that runs one backward pass over a retained tape; the forward pass is not part of the call."""
    variables = [array for array in arrays if array.dtype.is_floating]
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(variables)
        results = as_tuple(function(*arrays))
    used = []
    for i, (_, grad) in enumerate(zip(results, grads, strict=False)):
        if grad is not None:
            used.append(i)
    targets = [results[i] for i in used]

    def bind(values: Sequence[Any]) -> tuple:
        used_grads = [values[i] for i in used]
        return targets, variables, used_grads

    def outputs(gradients: Sequence[Any]) -> list:
        remaining = iter(gradients)
        by_input = []
        for array in arrays:
            gradient = next(remaining) if array.dtype.is_floating else None
            if gradient is not None:
                gradient = tf.convert_to_tensor(gradient).numpy()
            by_input.append(gradient)
        return by_input

    return Call(tape.gradient, bind(grads), outputs, bind)
