"""Compares named arrays with the expected names, shapes and dtypes."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..contracts.dtypes import name_of
from ..errors import Deep500Error

FRACTIONS = ("float", "double", "bfloat", "complex")  # how such dtypes begin
UNKNOWN = object()  # the dtype of what has none


class Shaped(Protocol):
    """Anything with a shape and a dtype: an array, a native tensor, a description of one."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a NumPy or native value, or of numbers."""
    shape = getattr(value, "shape", None)
    if callable(shape):
        return tuple(shape())
    return tuple(np.shape(value))


def check_matching(
    subject: str,
    expected: Mapping[str, Shaped],
    actual: Mapping[str, Shaped],
    *,
    dtypes: bool = True,
) -> None:
    """Raise a Deep500Error that names the first array that differs between `actual` and `expected`.

    `subject` is what the message calls the arrays ("the optimizer's state"). Names and shapes must be the same, and
    dtypes too unless `dtypes` is False, for a caller that converts them.
    """
    for name in expected:
        if name not in actual:
            names = _listed(actual)
            raise Deep500Error(f"{subject}: {name!r} is missing among {names}")
    for name in actual:
        if name not in expected:
            names = _listed(expected)
            raise Deep500Error(f"{subject}: {name!r} is not one of {names}")
    for name, array in expected.items():
        other = actual[name]
        same_shape = tuple(array.shape) == tuple(other.shape)
        same_dtype = name_of(array.dtype) == name_of(other.dtype)
        if not same_shape or (dtypes and not same_dtype):
            raise Deep500Error(
                f"{subject}: {name!r} is {_described(other)}, expected {_described(array)}"
            )


class WholeInputs:
    """Refuses fractions for inputs of whole numbers, in every call: a conversion would cut them off in silence."""

    def __init__(self, specs: Mapping[str, Shaped]):
        self._wanted: dict[str, str] = {}
        # the dtype that was accepted last: of native arrays, it is the same object in every call
        self._accepted: dict[str, object] = {}
        for name, spec in specs.items():
            wanted = name_of(spec.dtype)
            if not wanted.startswith(FRACTIONS):
                self._wanted[name] = wanted
                self._accepted[name] = UNKNOWN

    def check(self, inputs: Mapping[str, Any]) -> None:
        for name, accepted in self._accepted.items():
            if name not in inputs:
                continue
            value = inputs[name]
            dtype = getattr(value, "dtype", UNKNOWN)
            if dtype is UNKNOWN or dtype is not accepted:
                check_kind(name, self._wanted[name], value)
                self._accepted[name] = dtype


def check_kind(name: str, wanted: str, value: Any) -> None:
    """Refuse fractions for an input of whole numbers."""
    dtype = dtype_name(value)
    if dtype.startswith(FRACTIONS) and not wanted.startswith(FRACTIONS):
        raise Deep500Error(
            f"the input {name!r} is of {dtype}, and {wanted} is wanted: convert it, if no fraction is lost"
        )


def dtype_name(value: Any) -> str:
    """The dtype of a NumPy or native value, or of numbers."""
    if hasattr(value, "data_type"):  # of ONNX Runtime
        return name_of(value.data_type())
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return name_of(dtype)
    array = np.asarray(value)
    return "" if array.size == 0 else array.dtype.name


def _described(array: Shaped) -> str:
    dtype = name_of(array.dtype)
    shape = list(array.shape)
    return f"{dtype}{shape}"


def _listed(names: Mapping[str, Any]) -> str:
    """The first ten names, and how many others there are."""
    first = ", ".join(list(names)[:10]) or "no arrays"
    others = len(names) - 10
    if others > 0:
        return f"{first} and {others} more"
    return first
