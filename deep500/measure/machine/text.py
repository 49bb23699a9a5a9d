"""What a fact may hold: printable text of bounded length, without credentials."""

from __future__ import annotations

import hashlib

from .facts import Value, is_value
from .host.files import Unavailable
from .host.secrets import without_secrets

LONGEST_TEXT = 2000
LONGEST_LIST = 64


def tidy(value: object) -> Value:
    """The value as a fact may hold it; one that cannot be held is Unavailable."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list):
        left = len(value) - LONGEST_LIST
        shown = [one_line(str(item)) for item in value[:LONGEST_LIST]]
        return [*shown, f"... and {left} more"] if left > 0 else shown
    if not is_value(value):
        raise Unavailable(
            f"the value is a {type(value).__name__} that cannot be recorded"
        )
    return value  # type: ignore[return-value]  # is_value has just said so


def one_line(text: str) -> str:
    """Printable text on one line, without secrets; what is too long ends in a hash of the whole."""
    safe = without_secrets(text)
    safe = " ".join(
        "".join(letter if letter.isprintable() else " " for letter in safe).split()
    )
    if len(safe) <= LONGEST_TEXT:
        return safe
    return f"{safe[:LONGEST_TEXT]}... sha256:{hashlib.sha256(safe.encode()).hexdigest()[:16]}"
