"""Convert what a user passes for a setting (a list, an array, a tensor) to the one value that its annotation means."""

import math
import os
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

WORDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
}
PLURALS = {
    int: "whole numbers",
    float: "numbers",
    bool: "truth values",
    str: "texts",
}


def canonical(value: Any, annotation: Any) -> Any:
    """The value in the form that its annotation names: int, float, bool, str, np.generic, a tuple of these, or a union.

    A Literal lists the texts that are allowed. Lists, arrays and tensors become tuples; numbers of NumPy or of a
    framework become Python's (for np.generic: NumPy's). None and values whose annotation names anything else are
    returned unchanged; a union of these with classes also accepts instances of the classes. What is Annotated with
    something that contains numbers takes only these. Raises ValueError, with a text that completes "… is", if the value
    fits none of them.
    """
    if value is None or type(value) is annotation:
        return value
    if typing.get_origin(annotation) is typing.Annotated:
        kind, *ranges = typing.get_args(annotation)
        return _within(canonical(value, kind), ranges)
    kinds = members(annotation)
    if any(map(_choices, kinds)):
        return _chosen(value, kinds)
    if type(value) in kinds:
        return value
    if _names_numpy(kinds):
        return _numpy_scalar(value, as_python=float in kinds)
    convertible = [kind for kind in kinds if kind in CONVERSIONS or _is_tuple(kind)]
    plain = in_python(value) if convertible else value
    for kind in convertible:
        try:
            return _converted(plain, kind)
        except (ValueError, OverflowError):
            continue
    others = [kind for kind in kinds if kind not in convertible]
    if others and not convertible:
        return value
    if not all(isinstance(kind, type) for kind in others):
        return value
    if isinstance(value, tuple(others)):
        return value
    allowed = [_description(kind) for kind in convertible]
    allowed += [f"a {kind.__name__}" for kind in others]
    choices = " or ".join(allowed)
    raise ValueError(f"{shown(value)}, and {choices} is wanted")


def _within(value: Any, ranges: Sequence[Any]) -> Any:
    """The value, if the numbers in it are in all of these ranges."""
    numbers = value if isinstance(value, tuple) else (value,)
    for allowed in ranges:
        if not all(number in allowed for number in numbers):
            wanted = f"a number {allowed} is wanted"
            if isinstance(value, tuple):
                wanted = f"numbers {allowed} are wanted"
            raise ValueError(f"{shown(value)}, and {wanted}")
    return value


def in_python(value: Any) -> Any:
    """The numbers of an array or a tensor of any framework as Python's; other values unchanged."""
    if isinstance(value, bool | int | str | list | tuple) or type(value) is float:
        return value
    if not has_dtype(value):
        return value
    return host_array(value).tolist()


def has_dtype(value: Any) -> bool:
    """Whether this is an array, a tensor or a NumPy scalar of any framework."""
    return getattr(value, "dtype", None) is not None and hasattr(value, "shape")


def host_array(value: Any) -> Any:
    """A NumPy array of any framework's array; one of PyTorch is first detached from its gradient."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach()
    return np.asarray(value)


def shown(value: Any) -> str:
    """A value as an error message shows it: on one line, at most 60 characters."""
    text = " ".join(repr(value).split())
    if len(text) > 60:
        return f"{text[:57]}..."
    return text


def _choices(kind: Any) -> tuple:
    """The texts that a Literal allows; none for any other kind."""
    return typing.get_args(kind) if typing.get_origin(kind) is typing.Literal else ()


def _chosen(value: Any, kinds: tuple) -> Any:
    """The value as one of the texts that a Literal lists."""
    choices = [choice for kind in kinds for choice in _choices(kind)]
    text = canonical(value, str)
    if text not in choices:
        *first, last = map(repr, choices)
        listed = f"{', '.join(first)} or {last}" if first else last
        raise ValueError(f"{shown(text)}, and {listed} is wanted")
    return text


def members(annotation: Any) -> tuple:
    """The types that a union allows, without None; of any other annotation, only itself."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    is_union = isinstance(annotation, types.UnionType)
    if is_union or typing.get_origin(annotation) is typing.Union:
        members = typing.get_args(annotation)
        return tuple(kind for kind in members if kind is not type(None))
    return (annotation,)


def _is_tuple(kind: Any) -> bool:
    return kind is tuple or typing.get_origin(kind) is tuple


def _converted(value: Any, kind: Any) -> Any:
    if _is_tuple(kind):
        return _tuple(value, typing.get_args(kind))
    convert = CONVERSIONS[kind]
    return convert(_unwrapped(value))


def _tuple(value: Any, kinds: Sequence[Any]) -> tuple:
    """A tuple of the values, each of its kind; a single value counts as a list of one."""
    if isinstance(value, list | tuple | range):
        values = list(value)
    else:
        values = [value]
    if not kinds:
        return tuple(values)
    if kinds[-1] is ...:
        kinds = [kinds[0]] * len(values)
    if len(kinds) != len(values) or any(item is None for item in values):
        raise ValueError
    pairs = zip(values, kinds, strict=True)
    return tuple(canonical(item, kind) for item, kind in pairs)


def _unwrapped(value: Any) -> Any:
    """The element of a list of one, which is how ONNX writes a single number; other values unchanged."""
    if isinstance(value, list | tuple) and len(value) == 1:
        return value[0]
    return value


def _whole(value: Any) -> int:
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise ValueError


def _real(value: Any) -> float:
    """A float; an integer that no float holds exactly stays an integer."""
    if not isinstance(value, int | float):
        raise ValueError
    number = float(value)
    if number == value or math.isnan(number):
        return number
    return value


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
    """Whether np.generic is among them; NumPy is not imported, since importing Deep500 must not import it."""
    from_numpy = [kind for kind in kinds if getattr(kind, "__module__", "") == "numpy"]
    return any(kind.__name__ == "generic" for kind in from_numpy)


def _numpy_scalar(value: Any, as_python: bool) -> Any:
    """A NumPy scalar; Python's numbers become int64, float32 and bool, or stay Python's with `as_python`."""
    import numpy as np

    number = _unwrapped(value)
    if isinstance(number, bool | int) or type(number) is float:
        if as_python:
            return number
        if type(number) is float:
            return np.float32(number)
        return np.asarray(number).dtype.type(number)
    array = host_array(number) if has_dtype(number) else np.asarray(None)
    if array.size != 1 or array.dtype.kind in "OSU":
        raise ValueError(f"{shown(value)}, and a number is wanted")
    scalar = array.reshape(-1)[0]
    if as_python and scalar.dtype.name in ("int64", "float32"):
        return scalar.item()
    return scalar


def _description(kind: Any) -> str:
    """What a message calls values of this kind."""
    if not _is_tuple(kind):
        return WORDS[kind]
    items = typing.get_args(kind)
    if not items:
        return "a list of values"
    if items[-1] is not ...:
        return f"a list of {len(items)}"
    plural = PLURALS.get(items[0], "lists")
    return f"a list of {plural}"
