"""Reads files from anyone: regular files of a limited size, UTF-8, strict JSON."""

import os
from pathlib import Path

from .bundle.containers import Damage, open_regular
from .bundle.encoding import parse
from .errors import Deep500Error, one_line

LARGEST = 64 << 20  # bytes of one log or claims file


def limited_text(path: Path, largest: int = LARGEST) -> str:
    """The text of a file; a Deep500Error of one line if it is too large, no regular file or no text."""
    return text_of(limited_bytes(path, largest), path.name)


def limited_bytes(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file; a Deep500Error of one line if it is too large or no regular file."""
    try:
        with open_regular(str(path)) as file:
            size = os.fstat(file.fileno()).st_size
            if size > largest:
                raise Deep500Error(
                    f"{path.name} has {size} bytes; at most {largest} are read: cut out what matters"
                )
            data = file.read(largest + 1)
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise Deep500Error(f"{path} cannot be read: {reason}") from None
    if len(data) > largest:
        raise Deep500Error(f"{path.name} grows while it is read")
    return data


def text_of(data: bytes, name: str) -> str:
    """The text of these bytes."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Deep500Error(
            f"{name} is no text: byte {error.start} is not UTF-8"
        ) from None


def limited_json(text: str, name: str) -> object:
    """The JSON value of a text from anyone."""
    try:
        return parse(text.encode())
    except Damage as error:
        raise Deep500Error(f"{name}: {error}") from None
