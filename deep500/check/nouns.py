"""Finds the check of a noun, by the name of its file: check_codec.py holds CheckCodec. Importing this imports none."""

import ast
from pathlib import Path
from typing import TYPE_CHECKING

from .. import registry

if TYPE_CHECKING:
    from .contract import NounCheck

PREFIX = "check_"


def own_nouns() -> list[str]:
    """The nouns that have a check in this folder."""
    files = sorted(Path(__file__).parent.glob(f"{PREFIX}*.py"))
    return [file.stem.removeprefix(PREFIX) for file in files]


def nouns() -> list[str]:
    """These, and those that installed packages bring, which takes longer to find out."""
    stems = map(registry.file_stem, registry.known("check"))
    return [stem.removeprefix(PREFIX) for stem in stems if stem.startswith(PREFIX)]


def summary(noun: str) -> str:
    """The docstring of the check of a noun, which is read without importing a file of this folder."""
    if noun not in own_nouns():
        return check_class(noun).__doc__ or ""
    file = Path(__file__).with_name(f"{PREFIX}{noun}.py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name.startswith("Check"):
            return ast.get_docstring(node) or ""
    return ""


def check_class(noun: str) -> "type[NounCheck]":
    cls: type[NounCheck] = registry.named("check", PREFIX + noun)
    return cls
