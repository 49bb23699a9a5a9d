"""Rows of a CSV file as declarations: the header has the names of the fields, an empty cell says nothing."""

import csv
import io
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..contracts.declaration import Declaration
from ..errors import Deep500Error, did_you_mean, visible
from ..limited_files import limited_text

LARGEST = 16 << 20  # bytes
MOST_ROWS = 50_000


def csv_rows(
    kind: type[Declaration], name: object, folder: Path | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line and the fields of every row; a Deep500Error if the file is outside of the folder or malformed."""
    path = _path(name, folder)
    reader = csv.reader(io.StringIO(limited_text(path, LARGEST)), strict=True)
    hints = typing.get_type_hints(kind, include_extras=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
        _check_header(header, hints, path.name)
        for row in reader:
            number = reader.line_num
            if number > MOST_ROWS:
                raise Deep500Error(f"{path.name} has more than {MOST_ROWS} lines")
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise Deep500Error(
                    f"{path.name}, line {number}: {len(row)} cells, and the header has {len(header)}"
                )
            yield number, _fields(header, row, hints)
    except csv.Error as error:
        raise Deep500Error(
            f"{path.name}, line {reader.line_num}: {visible(str(error))}"
        ) from None


def _path(name: object, folder: Path | None) -> Path:
    if not isinstance(name, str) or folder is None:
        raise Deep500Error("csv is the name of a file beside the claims file")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise Deep500Error(
            f"csv = {visible(name)[:60]!r} is outside of the folder of the claims file"
        )
    return path


def _check_header(header: list[str], hints: dict[str, Any], name: str) -> None:
    known = [field for field in hints if field != "origin"]
    if not header:
        raise Deep500Error(f"{name} is empty: its first line has the names of fields")
    for cell in header:
        if cell not in known:
            hint = did_you_mean(cell, known)
            raise Deep500Error(
                f"{name}, line 1: there is no field {visible(cell)[:40]!r}.{hint} Known: {', '.join(known)}"
            )
    if len({*header}) < len(header):
        raise Deep500Error(f"{name}, line 1: a field is there twice")


def _fields(header: list[str], row: list[str], hints: dict[str, Any]) -> dict[str, Any]:
    values = {}
    for name, cell in zip(header, row, strict=True):
        text = cell.strip()
        if text:
            values[name] = _value(text, str(hints[name]))
    return values


def _value(text: str, hint: str) -> Any:
    """A cell as its field needs it: a list is separated by semicolons."""
    if "Sequence" in hint:
        parts = [part.strip() for part in text.split(";")]
        return [_number(part) for part in parts] if "float" in hint else parts
    if "bool" in hint and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "int" in hint or "float" in hint:
        return _number(text)
    return text


def _number(text: str) -> Any:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
