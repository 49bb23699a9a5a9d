"""Converts the inputs that a caller passes to an operator to their canonical form, once per call."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..canonical import canonical, has_dtype, host_array, shown
from ..errors import Deep500Error, one_line
from .calls import BUILT_IN
from .operator import Operator

ToArray = Callable[[Any], np.ndarray]
# values for which NumPy has to choose a dtype
UNTYPED = (bool, int, float, list, tuple, range)


def canonical_inputs(
    operator: Operator, inputs: Sequence[Any], to_array: ToArray = host_array
) -> list[Any]:
    """Arrays as NumPy arrays, static inputs as Python values of their annotation, None for omitted inputs.

    `to_array` converts tensors and NumPy's scalars. Numbers and lists have no dtype: they take that of the first
    array, if it can hold them, else int64, float32 or bool. Integers stay int64 for inputs in `operator.integers` and
    for a user's operators, which do not declare such inputs.
    """
    if not isinstance(inputs, list | tuple):
        operator_name = type(operator).__name__
        expected = ", ".join(operator.inputs)
        actual = type(inputs).__name__
        raise Deep500Error(
            f"the inputs of {operator_name} are a list, one for each of "
            f"{expected}, not a {actual}"
        )
    names = operator.input_names(len(inputs))
    values = []
    untyped = []  # positions of array inputs without a dtype
    for place, (name, value) in enumerate(zip(names, inputs, strict=True)):
        values.append(_static_or_array(operator, name, value, to_array))
        if _is_untyped(value) and name not in operator.static:
            untyped.append(place)
    if untyped:
        dtype = _first_dtype(operator, names, values, untyped)
        for i in untyped:
            values[i] = _in_dtype(operator, names[i], values[i], dtype)
    return values


def static_input(operator: Operator, name: str, value: Any) -> Any:
    """The value of a static input in the type of its annotation; a Deep500Error if it cannot be converted."""
    try:
        return canonical(value, operator.inputs[name].annotation)
    except ValueError as error:
        owner = type(operator).__name__
        raise Deep500Error(f"the input {name!r} of {owner} is {error}") from None


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
        if grad is None:
            arrays.append(None)
            continue
        array = _array(operator, f"d{name}", grad, to_array)
        if _is_untyped(grad):
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
        except Exception as error:
            # rows of different lengths, or a framework's error
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
    """The dtype of the first array that has its own, except booleans, keys and inputs that are always integers."""
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        if place in untyped or name == "key" or name in operator.integers:
            continue
        if isinstance(value, np.ndarray) and value.dtype != bool:
            return value.dtype
    return None


def _in_dtype(
    operator: Operator, name: str, array: np.ndarray, dtype: np.dtype | None
) -> np.ndarray:
    """An array of numbers without a dtype in the dtype of the other arrays, if that can hold them."""
    if array.dtype.name not in ("int64", "float64") or name in operator.integers:
        return array
    if _is_float(array):
        if dtype is None or "float" not in dtype.name:
            return array.astype("float32")
    else:
        is_built_in = type(operator).__module__.startswith(BUILT_IN)
        if dtype is None or not is_built_in:
            return array
    converted = array.astype(dtype)
    if "int" in dtype.name and not np.array_equal(converted, array):
        raise _refused(operator, name, array.tolist(), f"{dtype.name} cannot hold that")
    return converted


def _refused(operator: Operator, name: str, value: Any, reason: str) -> Deep500Error:
    owner = type(operator).__name__
    return Deep500Error(f"the input {name!r} of {owner} is {shown(value)}: {reason}")
