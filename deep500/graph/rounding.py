"""Operators in half precision computed in float32: one rounding per operator, as in ONNX's reference implementation."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..contracts.dtypes import name_of
from ..contracts.operator import Operator, TensorSpec
from ..namespace import Namespace


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
    specs = _specs(operator, inputs)
    count = len(specs)
    if operator.random:  # a key comes after the inputs
        count = len(operator.inputs)
    outputs = operator.infer(*specs[:count])
    results = run(*_widened(xp, specs, inputs, narrow))
    rounded = []
    for y, spec in zip(results, outputs, strict=False):
        if y is not None and spec.dtype in narrow:
            y = xp.astype(y, spec.dtype)
        rounded.append(y)
    return (*rounded, *results[len(rounded) :])


def _specs(operator: Operator, inputs: Sequence[Any]) -> list[Any]:
    """Tensors for the array inputs; static and omitted inputs unchanged."""
    specs = []
    for name, x in zip(operator.input_names(len(inputs)), inputs, strict=True):
        if x is None or name in operator.static:
            specs.append(x)
        else:
            specs.append(TensorSpec(tuple(x.shape), name_of(x.dtype)))
    return specs


def _widened(
    xp: Namespace,
    specs: Sequence[Any],
    inputs: Sequence[Any],
    narrow: Collection[str],
) -> list[Any]:
    """The inputs, with narrow floats as float32."""
    widened = []
    for spec, x in zip(specs, inputs, strict=True):
        if isinstance(spec, TensorSpec) and spec.dtype in narrow:
            x = xp.astype(x, "float32")
        widened.append(x)
    return widened
