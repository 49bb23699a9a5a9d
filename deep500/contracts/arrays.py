"""Arrays by name: do those that are given fit those that are expected?"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ..errors import Deep500Error
from .dtypes import name_of


class Shaped(Protocol):
    """Anything with a shape and a dtype: an array, a native tensor, a description of one."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a NumPy or native value, or of numbers."""
    shape = getattr(value, "shape", None)
    return tuple(shape() if callable(shape) else np.shape(value))


def check_matching(
    what: str,
    expected: Mapping[str, Shaped],
    given: Mapping[str, Shaped],
    *,
    dtypes: bool = True,
) -> None:
    """Raise a Deep500Error that names the first array by which `given` differs from `expected`.

    `what` says whose arrays these are ("the optimizer's state"). Names and shapes must be the same, and dtypes too
    unless `dtypes` is False, for a caller that converts them.
    """
    for name in expected:
        if name not in given:
            raise Deep500Error(f"{what}: {name!r} is missing among {_listed(given)}")
    for name in given:
        if name not in expected:
            raise Deep500Error(f"{what}: {name!r} is not one of {_listed(expected)}")
    for name, own in expected.items():
        other = given[name]
        same_shape = tuple(own.shape) == tuple(other.shape)
        same_dtype = name_of(own.dtype) == name_of(other.dtype)
        if not same_shape or (dtypes and not same_dtype):
            raise Deep500Error(
                f"{what}: {name!r} is {_kind(other)}, expected {_kind(own)}"
            )


def _kind(array: Shaped) -> str:
    return f"{name_of(array.dtype)}{list(array.shape)}"


def _listed(names: Mapping[str, Any]) -> str:
    """The names, as many of them as one can read."""
    first = list(names)[:10]
    rest = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return (", ".join(first) or "no arrays") + rest
