"""Checks the arguments of events when they are constructed or before the first epoch, rather than hours later."""

import math
import os
from pathlib import Path
from typing import Any

from ...errors import Deep500Error


def whole_number(event: str, name: str, value: Any) -> int:
    """Return the value; raise a Deep500Error unless it is a whole number of at least 1."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and value >= 1:
        return value
    raise Deep500Error(
        f"{event}: {name} is {value!r}, and it must be a whole number from 1 up"
    )


def positive(event: str, name: str, value: Any) -> float:
    """Return the value; raise a Deep500Error unless it is a finite number above 0."""
    number = finite(event, name, value)
    if number > 0:
        return number
    raise Deep500Error(f"{event}: {name} is {value!r}, and it must be above 0")


def finite(event: str, name: str, value: Any) -> float:
    """Return the value; raise a Deep500Error unless it is a finite number."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        return value
    raise Deep500Error(f"{event}: {name} is {value!r}, and it must be a finite number")


def check_writable(path: Path) -> None:
    """Raise a Deep500Error unless a file can be created at this path."""
    if not path.parent.is_dir():
        raise Deep500Error(
            f"{path} cannot be written: No such file or directory: {path.parent}"
        )
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise Deep500Error(
            f"{path} cannot be written: it is a folder, or its folder is closed"
        )
