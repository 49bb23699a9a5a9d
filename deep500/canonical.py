"""What a user gives for a setting (a list, an array, a tensor), as the one value that its annotation stands for."""

import math
import os
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}
PLURALS = {int: "whole numbers", float: "numbers", bool: "truth values", str: "texts"}


def canonical(value: Any, annotation: Any) -> Any:
    """The value in the form that its annotation names: int, float, bool, str, np.generic, a tuple of these, or a union.

    Lists, arrays and tensors become tuples, and numbers of NumPy or of a framework those of Python (np.generic: those
    of NumPy). None stays, and so does a value whose annotation names something else; a union of these with classes
    takes their instances as well. Raises ValueError, with a text to put behind "is", if it has none of the forms.
    """
    if value is None or type(value) is annotation:
        return value
    kinds = _members(annotation)
    if type(value) in kinds:
        return value
    if _names_numpy(kinds):
        return _numpy_scalar(value, as_python=float in kinds)
    known = [kind for kind in kinds if kind in CONVERSIONS or _is_tuple(kind)]
    plain = in_python(value) if known else value
    for kind in known:
        try:
            return _converted(plain, kind)
        except (ValueError, OverflowError):
            continue
    others = [kind for kind in kinds if kind not in known]
    if others and (not known or not all(isinstance(kind, type) for kind in others)):
        return value
    if isinstance(value, tuple(others)):
        return value
    words = [*map(_word, known), *(f"a {kind.__name__}" for kind in others)]
    raise ValueError(f"{shown(value)}, and {' or '.join(words)} is wanted")


def in_python(value: Any) -> Any:
    """The numbers of an array or a tensor of any framework as Python has them; other values as they are."""
    if isinstance(value, bool | int | str | list | tuple) or type(value) is float:
        return value
    return host_array(value).tolist() if has_dtype(value) else value


def has_dtype(value: Any) -> bool:
    """Whether this is an array, a tensor or a NumPy scalar of any framework."""
    return getattr(value, "dtype", None) is not None and hasattr(value, "shape")


def host_array(value: Any) -> Any:
    """A NumPy array of what any framework computes with; PyTorch refuses where it would differentiate."""
    import numpy as np

    return np.asarray(value.detach() if hasattr(value, "detach") else value)


def shown(value: Any) -> str:
    """A value in an error message: one line, and not a long one."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _members(annotation: Any) -> tuple:
    """The kinds that a union allows, or the only one; without None."""
    if (
        isinstance(annotation, types.UnionType)
        or typing.get_origin(annotation) is typing.Union
    ):
        return tuple(
            kind for kind in typing.get_args(annotation) if kind is not type(None)
        )
    return (annotation,)


def _is_tuple(kind: Any) -> bool:
    return kind is tuple or typing.get_origin(kind) is tuple


def _converted(value: Any, kind: Any) -> Any:
    if _is_tuple(kind):
        return _tuple(value, typing.get_args(kind))
    return CONVERSIONS[kind](_only(value))


def _tuple(value: Any, kinds: Sequence[Any]) -> tuple:
    """A list of values; a single one counts as a list of one."""
    values = list(value) if isinstance(value, list | tuple | range) else [value]
    if not kinds:
        return tuple(values)
    repeated = kinds[-1] is ...
    each = [kinds[0]] * len(values) if repeated else kinds
    if len(each) != len(values) or any(v is None for v in values):
        raise ValueError
    return tuple(canonical(v, kind) for v, kind in zip(values, each, strict=True))


def _only(value: Any) -> Any:
    """The number in a list of one, as ONNX writes a single number too."""
    one = isinstance(value, list | tuple) and len(value) == 1
    return value[0] if one else value


def _whole(value: Any) -> int:
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise ValueError


def _real(value: Any) -> float:
    """A float, but an integer that no float can hold stays what it is."""
    if not isinstance(value, int | float):
        raise ValueError
    number = float(value)
    return number if number == value or math.isnan(number) else value


def _truth(value: Any) -> bool:
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    raise ValueError


def _text(value: Any) -> str:
    if isinstance(value, str | os.PathLike):
        return str(value)
    raise ValueError


CONVERSIONS: dict[Any, Callable[[Any], Any]] = {
    bool: _truth,
    int: _whole,
    float: _real,
    str: _text,
}


def _names_numpy(kinds: tuple) -> bool:
    """Whether np.generic is among them, asked without NumPy, which importing Deep500 does not import."""
    return any(
        getattr(kind, "__module__", "") == "numpy" and kind.__name__ == "generic"
        for kind in kinds
    )


def _numpy_scalar(value: Any, as_python: bool) -> Any:
    """A NumPy scalar. Python's numbers are int64, float32 and bool; with `as_python` these stay Python's."""
    import numpy as np

    number = _only(value)
    if isinstance(number, bool | int) or type(number) is float:
        default = np.float32 if type(number) is float else np.asarray(number).dtype.type
        return number if as_python else default(number)
    array = host_array(number) if has_dtype(number) else np.asarray(None)
    if array.size != 1 or array.dtype.kind in "OSU":
        raise ValueError(f"{shown(value)}, and a number is wanted")
    scalar = array.reshape(-1)[0]
    return (
        scalar.item()
        if as_python and scalar.dtype.name in ("int64", "float32")
        else scalar
    )


def _word(kind: Any) -> str:
    if not _is_tuple(kind):
        return WORDS[kind]
    items = typing.get_args(kind)
    if items and items[-1] is not ...:
        return f"a list of {len(items)}"
    return f"a list of {PLURALS.get(items[0], 'lists') if items else 'values'}"
