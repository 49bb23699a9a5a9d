"""What a fact may hold: printable text of bounded length, without credentials."""

from __future__ import annotations

import hashlib

from .facts import Value, is_value
from .host.files import Unavailable
from .host.secrets import without_secrets

LONGEST_TEXT = 2000
LONGEST_LIST = 64


def tidy(value: object) -> Value:
    """The value in the form of a fact; raises Unavailable if it cannot be recorded."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list):
        items = [one_line(str(item)) for item in value[:LONGEST_LIST]]
        omitted = len(value) - LONGEST_LIST
        if omitted > 0:
            items.append(f"... and {omitted} more")
        return items
    if not is_value(value):
        raise Unavailable(
            f"the value is a {type(value).__name__} that cannot be recorded"
        )
    return value  # type: ignore[return-value]  # is_value has just said so


def one_line(text: str) -> str:
    """Printable text on one line, without secrets; what is too long ends in a hash of the whole."""
    letters = without_secrets(text)
    printable = "".join(letter if letter.isprintable() else " " for letter in letters)
    line = " ".join(printable.split())
    if len(line) <= LONGEST_TEXT:
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()
    start = line[:LONGEST_TEXT]
    return f"{start}... sha256:{digest[:16]}"
