"""TensorFlow's own derivative of a function, from the tape that it records."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.calls import Call, results


def derivative(function: Callable, arrays: Sequence[Any], grads: Sequence[Any]) -> Call:
    """One backward pass over a tape that is kept; forward is not part of the call."""
    used = [i for i, g in enumerate(grads) if g is not None]
    smooth = [a for a in arrays if a.dtype.is_floating]
    with tf.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        tape.watch(smooth)
        made = results(function(*arrays))

    def bind(values: Sequence[Any]) -> tuple:
        return (
            [made[i] for i in used if i < len(made)],
            smooth,
            [values[i] for i in used if i < len(made)],
        )

    def outputs(found: Sequence[Any]) -> list:
        rest = iter(found)
        given = [next(rest) if a.dtype.is_floating else None for a in arrays]
        return [None if g is None else tf.convert_to_tensor(g).numpy() for g in given]

    return Call(tape.gradient, bind(grads), outputs, bind)
