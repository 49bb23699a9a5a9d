"""The fields of a definition as options: `ranks: int = option(8, "how many ranks")` is `--ranks 8`."""

import argparse
from collections.abc import Collection
from dataclasses import MISSING, Field, fields
from typing import Any, get_args, get_origin, get_type_hints

from ..canonical import members
from ..definition import Definition


def add_fields(
    parser: argparse.ArgumentParser,
    definition: type[Definition],
    left_out: Collection[str] = (),
) -> None:
    """An option for every field that is not left out."""
    annotations = get_type_hints(definition)
    for field in fields(definition):  # type: ignore[arg-type]
        if field.name not in left_out:
            _add_option(parser, field, annotations[field.name])


def given_fields(
    args: argparse.Namespace, definition: type[Definition]
) -> dict[str, Any]:
    """The fields that these options set; the others keep their defaults."""
    names = [field.name for field in fields(definition)]  # type: ignore[arg-type]
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


def _add_option(
    parser: argparse.ArgumentParser, field: "Field[Any]", annotation: Any
) -> None:
    """The option of a field: several values for a tuple, none for a bool."""
    option = "--" + field.name.replace("_", "-")
    # argparse fills in what follows a percent sign
    help_text = _help(field).replace("%", "%%")
    kind = members(annotation)[0]
    if kind is bool:
        action = argparse.BooleanOptionalAction if field.default else "store_true"
        parser.add_argument(
            option, action=action, default=argparse.SUPPRESS, help=help_text
        )
        return
    several = get_origin(kind) is tuple
    if several:
        kind = get_args(kind)[0]
    is_number = kind in (int, float)
    parser.add_argument(
        option,
        type=kind if is_number else _given_text,
        nargs="+" if several else None,
        default=argparse.SUPPRESS,
        required=field.default is MISSING,
        metavar=field.metadata.get("metavar") or ("N" if is_number else "NAME"),
        help=help_text,
    )


def _help(field: "Field[Any]") -> str:
    """What the field means, and its default if there is one to be seen."""
    meaning: str = field.metadata.get("meaning", "")
    default = field.default
    if default is MISSING or not default:
        return meaning
    if isinstance(default, tuple):
        default = " ".join(map(str, default))
    return f"{meaning} ({default})".lstrip()


def _given_text(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty: give a name, or no option")
    return text
