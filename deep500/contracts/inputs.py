"""What a caller passes as the inputs of an operator, made canonical once: where the call comes in."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..canonical import canonical, has_dtype, host_array, shown
from ..errors import Deep500Error, one_line
from .calls import BUILT_IN
from .operator import Operator

ToArray = Callable[[Any], np.ndarray]
UNTYPED = (
    bool,
    int,
    float,
    list,
    tuple,
    range,
)  # NumPy has to choose a dtype for these


def canonical_inputs(
    operator: Operator, inputs: Sequence[Any], to_array: ToArray = host_array
) -> list[Any]:
    """Arrays as NumPy arrays, static inputs as Python values by their annotation, None where one is left out.

    `to_array` converts tensors and NumPy's scalars. Numbers and lists have no dtype: they take that of the first
    array, if it can hold them, else int64, float32 or bool. Whole numbers stay int64 for inputs in
    `operator.integers` and for a user's operators, which do not say what they are for.
    """
    if not isinstance(inputs, list | tuple):
        raise Deep500Error(
            f"the inputs of {type(operator).__name__} are a list, one for each of "
            f"{', '.join(operator.inputs)}, not a {type(inputs).__name__}"
        )
    names = operator.input_names(len(inputs))
    values = [
        _static_or_array(operator, name, value, to_array)
        for name, value in zip(names, inputs, strict=True)
    ]
    untyped = [
        i
        for i, x in enumerate(inputs)
        if _is_untyped(x) and names[i] not in operator.static
    ]
    if untyped:
        dtype = _first_dtype(operator, names, values, untyped)
        for i in untyped:
            values[i] = _in_dtype(operator, names[i], values[i], dtype)
    return values


def static_input(operator: Operator, name: str, value: Any) -> Any:
    """The value of a static input in the form that its annotation names."""
    try:
        return canonical(value, operator.inputs[name].annotation)
    except ValueError as error:
        raise Deep500Error(
            f"the input {name!r} of {type(operator).__name__} is {error}"
        ) from None


def canonical_gradients(
    operator: Operator,
    grads: Sequence[Any],
    inputs: Sequence[Any],
    to_array: ToArray = host_array,
) -> list[np.ndarray | None]:
    """The gradients of the outputs as NumPy arrays; numbers and lists take the dtype of the first float input."""
    names = operator.result_names(len(grads))
    floats = [x.dtype for x in inputs if isinstance(x, np.ndarray) and _is_float(x)]
    dtype = floats[0] if floats else np.dtype("float32")
    arrays: list[np.ndarray | None] = []
    for name, grad in zip(names, grads, strict=True):
        array = None if grad is None else _array(operator, f"d{name}", grad, to_array)
        if array is not None and _is_untyped(grad):
            array = array.astype(dtype)
        arrays.append(array)
    return arrays


def _static_or_array(
    operator: Operator, name: str, value: Any, to_array: ToArray
) -> Any:
    if value is None:
        return None
    if name in operator.static:
        return static_input(operator, name, value)
    array = _array(operator, name, value, to_array)
    if name in operator.integers and _is_float(array):
        raise _refused(operator, name, value, "whole numbers are wanted")
    return array


def _array(operator: Operator, name: str, value: Any, to_array: ToArray) -> np.ndarray:
    if isinstance(value, np.ndarray):
        array = value
    else:
        try:
            array = np.asarray(value) if _is_untyped(value) else to_array(value)
        except Exception as error:  # rows of several lengths, or whatever a framework says to its tensor
            raise _refused(operator, name, value, one_line(error)) from error
    if array.dtype.kind in "OSUMm":
        raise _refused(operator, name, value, "an array of numbers is wanted")
    return array


def _is_untyped(value: Any) -> bool:
    return isinstance(value, UNTYPED) and not has_dtype(value)


def _is_float(array: np.ndarray) -> bool:
    return "float" in array.dtype.name


def _first_dtype(
    operator: Operator,
    names: Sequence[str],
    values: Sequence[Any],
    untyped: Sequence[int],
) -> np.dtype | None:
    """That of the first array which has one of its own, but for truth values and inputs that are always integers."""
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        typed = isinstance(value, np.ndarray) and i not in untyped and name != "key"
        if typed and name not in operator.integers and value.dtype != bool:
            return value.dtype
    return None


def _in_dtype(
    operator: Operator, name: str, array: np.ndarray, dtype: np.dtype | None
) -> np.ndarray:
    """Numbers without a dtype in that of the others, if it can hold them."""
    if array.dtype.name not in ("int64", "float64") or name in operator.integers:
        return array
    if not _is_float(array) and not type(operator).__module__.startswith(BUILT_IN):
        return array
    if dtype is None or (_is_float(array) and "float" not in dtype.name):
        return array.astype("float32") if _is_float(array) else array
    converted = array.astype(dtype)
    if "int" in dtype.name and not np.array_equal(converted, array):
        raise _refused(operator, name, array.tolist(), f"{dtype.name} cannot hold that")
    return converted


def _refused(operator: Operator, name: str, value: Any, why: str) -> Deep500Error:
    return Deep500Error(
        f"the input {name!r} of {type(operator).__name__} is {shown(value)}: {why}"
    )
