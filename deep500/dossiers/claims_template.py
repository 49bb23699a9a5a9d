"""Writes claims files: an empty one, which asks for everything, or what a source says, with what it does not say."""

import json
import textwrap
from dataclasses import Field, fields
from typing import Any

from ..contracts.declaration import Declaration, Fact
from ..contracts.dossier import Dossier
from ..errors import Deep500Error
from ..reports.text import clean
from .claims_file import declaration_classes

HEAD = """\
# What a publication says, for `d5 audit FILE`. Fill in what it says; what is not here was not said.
# A table in double brackets may be repeated. With  csv = "table2.csv"  its rows come from a file beside
# this one, whose first line has the names of the keys.
"""
MOST = 500  # declarations of a source that are written


def claims_template() -> str:
    """Every table and key as a comment, with its question and an example."""
    parts = [HEAD]
    for table, kind in declaration_classes().items():
        about = textwrap.fill((kind.__doc__ or "").strip(), 100)
        lines = [f"# {line}" for line in about.splitlines()]
        lines.append(f"# [[{table}]]")
        lines += [_question(member) for member in _members(kind)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def claims_of(dossier: Dossier) -> str:
    """What a source says as a claims file, and every key that it leaves unsaid as a question."""
    parts = [HEAD]
    for table in fields(Dossier):
        for declaration in getattr(dossier, table.name):
            parts.append(_declared(table.name, declaration))
    if len(parts) > MOST:
        raise Deep500Error(
            f"this source has {len(parts)} declarations, and at most {MOST} are written: choose a smaller one"
        )
    return "\n".join(parts)


def _declared(table: str, declaration: Declaration) -> str:
    said, unsaid = [], []
    for member in _members(type(declaration)):
        value = getattr(declaration, member.name)
        if value is None:
            unsaid.append(_question(member))
        else:
            said.append(f"{member.name} = {_toml(value)}")
    return "\n".join([f"[[{table}]]", *said, *unsaid]) + "\n"


def _members(kind: type[Declaration]) -> "list[Field[Any]]":
    return [member for member in fields(kind) if member.name != "origin"]


def _question(member: "Field[Any]") -> str:
    example = json.dumps(member.metadata["example"], ensure_ascii=False)
    return f"# {member.name} = {example}  # {member.metadata['question']}"


def _toml(value: Fact) -> str:
    """A value as TOML: its texts, numbers and lists are written as in JSON."""
    if isinstance(value, str):
        return json.dumps(clean(value), ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, allow_nan=False)
