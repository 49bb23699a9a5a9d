"""Reads a claims file: what a publication says, in TOML, with tables in CSV files beside it."""

import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ..contracts.declaration import Declaration, Origin
from ..contracts.dossier import Dossier
from ..errors import Deep500Error, did_you_mean, one_line, visible
from ..limited_files import limited_text
from ..schema import decoded
from .claims_csv import csv_rows
from .claims_lines import line_of

LARGEST = 4 << 20  # bytes of a claims file
MOST = 100_000  # declarations of a file


def read_claims(path: Path) -> Dossier:
    """The dossier of a claims file; a Deep500Error names the line and the key of what is wrong."""
    text = limited_text(path, LARGEST)
    return claims_dossier(text, path.name, path.parent)


def claims_dossier(text: str, name: str, folder: Path | None = None) -> Dossier:
    """The dossier of the text of a claims file; CSV files are looked for in the folder."""
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise Deep500Error(f"{name} is no TOML: {one_line(error)}") from None
    _check_tables(document, name, text)
    tables: dict[str, list[Declaration]] = {}
    for table, kind in declaration_classes().items():
        members = document.get(table, [])
        if isinstance(members, dict):
            members = [members]
        where = _Place(name, text, table)
        tables[table] = _declarations(kind, members, where, folder)
    if sum(map(len, tables.values())) > MOST:
        raise Deep500Error(f"{name} has more than {MOST} declarations")
    return Dossier(**tables)  # type: ignore[arg-type]


def declaration_classes() -> dict[str, type[Declaration]]:
    """The class of the declarations of every table."""
    classes = {}
    for table, hint in typing.get_type_hints(Dossier).items():
        [classes[table]] = typing.get_args(hint)
    return classes


class _Place:
    """A table of a claims file, for messages."""

    def __init__(self, name: str, text: str, table: str) -> None:
        self.name = name
        self.text = text
        self.table = table

    def error(self, index: int, key: str, problem: str) -> Deep500Error:
        line = line_of(self.text, self.table, index, key)
        at = f", line {line}" if line else ""
        return Deep500Error(f"{self.name}{at}: [[{self.table}]] {index + 1}: {problem}")


def _check_tables(document: Mapping[str, Any], name: str, text: str) -> None:
    known = declaration_classes()
    for key, value in document.items():
        line = line_of(text, key, 0, "")
        at = f", line {line}" if line else ""
        if key not in known:
            hint = did_you_mean(key, known)
            raise Deep500Error(
                f"{name}{at}: there is no table {visible(key)[:40]!r}.{hint} "
                f"Known: {', '.join(known)}"
            )
        members = value if isinstance(value, list) else [value]
        if not all(isinstance(member, dict) for member in members):
            raise Deep500Error(f"{name}{at}: {key} is no table: write [[{key}]]")


def _declarations(
    kind: type[Declaration],
    members: Sequence[dict[str, Any]],
    where: _Place,
    folder: Path | None,
) -> list[Declaration]:
    declarations = []
    for index, member in enumerate(members):
        _check_keys(kind, member, where, index)
        place = f"{where.table}[{index}]"
        if "csv" not in member:
            declaration = _declaration(kind, member, where, index)
            origin = Origin(where.name, place)
            declarations.append(replace(declaration, origin=origin))
            continue
        shared = {key: value for key, value in member.items() if key != "csv"}
        try:
            rows = list(csv_rows(kind, member["csv"], folder))
        except Deep500Error as error:
            raise where.error(index, "csv", str(error)) from None
        for number, row in rows:
            declaration = _declaration(kind, shared | row, where, index)
            origin = Origin(str(member["csv"]), f"line {number}")
            declarations.append(replace(declaration, origin=origin))
    return declarations


def _check_keys(
    kind: type[Declaration], member: Mapping[str, Any], where: _Place, index: int
) -> None:
    known = [*field_names(kind), "csv"]
    for key in member:
        if key not in known:
            hint = did_you_mean(key, known)
            shown = visible(key)[:40]
            raise where.error(
                index,
                key,
                f"there is no key {shown!r}.{hint} Known: {', '.join(known)}",
            )


def _declaration(
    kind: type[Declaration], member: Mapping[str, Any], where: _Place, index: int
) -> Declaration:
    try:
        return decoded(kind, dict(member), "")
    except Deep500Error as error:
        problem = str(error).removeprefix(": /")
        key = problem.partition(" ")[0].partition("/")[0]
        raise where.error(index, key, problem) from None


def field_names(kind: type[Declaration]) -> list[str]:
    """The keys of a table."""
    return [member.name for member in fields(kind) if member.name != "origin"]
