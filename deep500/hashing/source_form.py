"""What identifies a class or function: its name, its source, and what that source uses of the user's own files."""

import ast
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from ..import_path import is_users_path

RECIPE_MODULE = "d5_recipe_"  # how the names of modules of recipes begin


def source_hash(value: Any) -> str | None:
    """SHA-256 of the source of a class or function; None if it has none."""
    source = _source(value)
    return None if source is None else _digest(source)


def full_name(value: Any) -> str:
    """The module and the name; of a user's own code the name alone, since a copy in another file is the same code."""
    if is_users(value):
        return value.__qualname__
    return f"{value.__module__}:{value.__qualname__}"


def is_users(value: Any) -> bool:
    """Whether a class, function or module comes from a file that is neither ours nor installed."""
    return users_file(value) is not None


def used_values(value: Any) -> dict[str, Any]:
    """What the source of a user's class or function names of the user's own files, directly or not.

    A class or function is there as itself, a module that is imported within a function as the path of its file, and
    anything else as its value.
    """
    uses: dict[str, Any] = {}
    if is_users(value):
        _collect(value, uses, {value.__qualname__})
    return uses


def _collect(value: Any, uses: dict[str, Any], visited: set[str]) -> None:
    source = _source(value)
    module = sys.modules.get(value.__module__)
    if source is None or module is None:
        return
    names = vars(module)
    for written, found in _named(_tree(source), names, users_file(value)):
        if written in visited:
            continue
        visited.add(written)
        uses[written] = found
        if isinstance(found, type) or inspect.isfunction(found):
            _collect(found, uses, visited)


def _named(
    tree: ast.AST, names: dict[str, Any], file: Path | None
) -> Iterator[tuple[str, Any]]:
    """The values of the user that the names in a piece of source stand for, with these names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = names.get(node.value.id)
            if isinstance(owner, ModuleType) and is_users(owner):
                written = f"{node.value.id}.{node.attr}"
                yield written, getattr(owner, node.attr, None)
        elif isinstance(node, ast.Name) and node.id in names:
            if _counts(names[node.id]):
                yield node.id, names[node.id]
        elif isinstance(node, ast.Import | ast.ImportFrom) and file:
            for imported in _imported(node):
                path = file.with_name(f"{imported}.py")
                if path.is_file():
                    yield imported, path


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The first parts of the names of the modules that a statement imports."""
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "").partition(".")[0]]
    return [alias.name.partition(".")[0] for alias in node.names]


def _counts(value: Any) -> bool:
    """Whether the value of a name belongs to the user: code of the user's files, or data."""
    if isinstance(value, ModuleType):
        return False  # its attributes count
    is_code = isinstance(value, type) or inspect.isroutine(value)
    return is_users(value) if is_code else True


def source_tree(value: Any) -> ast.AST:
    """The syntax tree of a class or function; an empty one if it has no source."""
    return _tree(_source(value) or "")


def _tree(source: str) -> ast.AST:
    try:
        return ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a lambda within a longer line
        return ast.Module([], [])


def _source(value: Any) -> str | None:
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):  # built in C, or typed at a prompt
        return None


def users_file(value: Any) -> Path | None:
    """The file of a class, function or module; None if it is ours, installed, or has none."""
    try:
        name = inspect.getsourcefile(value)
    except (OSError, TypeError):  # typed at a prompt, or built in C
        return None
    if name is None or name.startswith("<"):
        return None
    module = getattr(value, "__module__", "")
    is_recipe = str(module).startswith(RECIPE_MODULE)
    if not is_recipe and not is_users_path(name):
        return None
    return Path(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
