"""Operators of half precision by way of float32: one rounding per operator, as ONNX's own reference has it."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..namespace import Namespace
from .dtypes import name_of
from .operator import Operator, Tensor


def rounded_once(
    xp: Namespace,
    operator: Operator,
    run: Callable[..., tuple],
    inputs: Sequence[Any],
    narrow: Collection[str],
) -> tuple:
    """The results of run(*inputs), with the narrow floats among inputs and outputs computed as float32."""
    if not operator.rounds:
        return run(*inputs)
    arrays = {
        i: inputs[i]
        for i, name in enumerate(operator.input_names(len(inputs)))
        if inputs[i] is not None and name not in operator.static
    }
    kinds = [
        Tensor(tuple(x.shape), name_of(x.dtype)) if i in arrays else x
        for i, x in enumerate(inputs)
    ]
    made = operator.infer(
        *(kinds[: len(operator.inputs)] if operator.random else kinds)
    )  # a key stands behind the inputs
    results = run(
        *(
            xp.astype(x, "float32") if i in arrays and name_of(x.dtype) in narrow else x
            for i, x in enumerate(inputs)
        )
    )
    rounded = [
        y if y is None or kind.dtype not in narrow else xp.astype(y, kind.dtype)
        for y, kind in zip(results, made, strict=False)
    ]
    return (*rounded, *results[len(rounded) :])
