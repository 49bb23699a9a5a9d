"""What a JSON value from anyone must look like, said in few words and checked in one place."""

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


def check_object(what: str, value: object, shape: Mapping[str, Any]) -> dict[str, Any]:
    """`value`, if it is an object with these keys and types; else a Deep500Error that names the first wrong key.

    A type is a class, a tuple of classes, or a list with one of them (`[str]`: a list of texts). A bool is no number.
    """
    if not isinstance(value, dict):
        raise Deep500Error(f"{what} is not an object")
    for key, kind in shape.items():
        if key not in value:
            raise Deep500Error(f"{what} lacks {key!r}")
        if not _fits(value[key], kind):
            raise Deep500Error(
                f"{what}: {key!r} is {str(value[key])[:40]}, and it must be {_word(kind)}"
            )
    return value


def _word(kind: Any) -> str:
    """A type of a shape, in words."""
    if isinstance(kind, list):
        return f"a list, each of it {_word(kind[0])}"
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if {int, float} <= {*kinds}:
        kinds = ("a finite number", *(k for k in kinds if k not in NUMBER))
    return " or ".join(
        dict.fromkeys(k if isinstance(k, str) else WORDS[k] for k in kinds)
    )


def _fits(value: object, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_fits(item, kind[0]) for item in value)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, int | float) and not abs(value) < LARGEST:
        return False
    return isinstance(value, kinds)
