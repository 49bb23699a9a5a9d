"""Writes an empty claims file, which asks for everything that an audit wants to know."""

import json
import textwrap
from dataclasses import Field, fields
from typing import Any

from ..contracts.declaration import Declaration
from .claims_file import declaration_classes

HEAD = """\
# What a publication says, for `d5 audit FILE`. Fill in what it says; what is not here was not said.
# A table in double brackets may be repeated. With  csv = "table2.csv"  its rows come from a file beside
# this one, whose first line has the names of the keys.
"""


def claims_template() -> str:
    """Every table and key as a comment, with its question and an example."""
    parts = [HEAD]
    for table, kind in declaration_classes().items():
        parts.append(_table(table, kind))
    return "\n".join(parts)


def _table(table: str, kind: type[Declaration]) -> str:
    about = textwrap.fill((kind.__doc__ or "").strip(), 100)
    lines = [f"# {line}" for line in about.splitlines()]
    lines.append(f"# [[{table}]]")
    for member in fields(kind):
        if member.name != "origin":
            lines.append(_key(member))
    return "\n".join(lines) + "\n"


def _key(member: "Field[Any]") -> str:
    example = json.dumps(member.metadata["example"], ensure_ascii=False)
    return f"# {member.name} = {example}  # {member.metadata['question']}"
