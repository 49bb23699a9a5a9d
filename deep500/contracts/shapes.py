"""Checks the keys and types of JSON values from untrusted files."""

from collections.abc import Mapping
from typing import Any

from ..errors import Deep500Error

NUMBER = (int, float)
LARGEST = 1e300
WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number with a point (1.0)",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def check_object(
    subject: str, value: object, shape: Mapping[str, Any]
) -> dict[str, Any]:
    """`value`, if it is an object with these keys and types; else a Deep500Error that names the first wrong key.

    A type is a class, a tuple of classes, or a list with one of them (`[str]`: a list of texts). A bool is no number.
    `subject` is what the message calls the value.
    """
    if not isinstance(value, dict):
        raise Deep500Error(f"{subject} is not an object")
    for key, kind in shape.items():
        if key not in value:
            raise Deep500Error(f"{subject} lacks {key!r}")
        item = value[key]
        if not _fits(item, kind):
            shown = str(item)[:40]
            expected = _description(kind)
            raise Deep500Error(
                f"{subject}: {key!r} is {shown}, and it must be {expected}"
            )
    return value


def _description(kind: Any) -> str:
    """A type of a shape, in words."""
    if isinstance(kind, list):
        element = _description(kind[0])
        return f"a list, each of it {element}"
    kinds = kind if isinstance(kind, tuple) else (kind,)
    descriptions = []
    if {int, float} <= {*kinds}:
        descriptions.append("a finite number")
        kinds = tuple(k for k in kinds if k not in NUMBER)
    descriptions += [WORDS[k] for k in kinds]
    return " or ".join(dict.fromkeys(descriptions))


def _fits(value: object, kind: Any) -> bool:
    if isinstance(kind, list):
        if not isinstance(value, list):
            return False
        return all(_fits(item, kind[0]) for item in value)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int | float) and not abs(value) < LARGEST:
        return False
    return isinstance(value, kinds)
