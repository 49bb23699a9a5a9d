"""The user's own files that take part in a recipe: the recipe's file, and what it imports from the user's folders.

The source of a class says little about what it does if it calls a function of another file. So the files themselves
are hashed: those that definitions of FIXED come from or use belong to the hash of FIXED, and all of them to the hash of
the recipe.
"""

import ast
import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..definition import Definition
from .canonical_form import form_hash
from .imported_files import (
    bound_modules,
    file_hashes,
    import_closure,
    module_files,
)
from .source_form import source_tree, used_values, users_file


def own_code(
    fixed: Iterable[Any], others: Iterable[Any], file: Path | None
) -> dict[str, dict[str, str]]:
    """The user's files behind these values, with their SHA-256: all "files" but the recipe's own, and those of "fixed".

    Empty if there are none.
    """
    of_fixed = [*_code_values(fixed)]
    values = [*of_fixed, *_code_values(others)]
    start = {path for path in map(users_file, values) if path is not None}
    if file is not None:
        start.add(file)
    if not start:
        return {}
    home = (file or min(start)).parent
    files = import_closure(start, home)
    own = file.resolve() if file is not None else None
    hashes = file_hashes(files)
    imported = {name: hashes[name] for name in files if files[name] != own}
    if not imported:
        return {}
    behind: set[Path] = set()
    for value in of_fixed:
        behind |= _files_behind(value, own)
    of_fixed_files = {*import_closure(behind, home).values()}
    fixed_names = [name for name in imported if files[name] in of_fixed_files]
    return {
        "files": imported,
        "fixed": {name: imported[name] for name in fixed_names},
    }


def fixed_form_hash(recipe: Mapping[str, Any]) -> str:
    """The hash of FIXED in the canonical form of a recipe, with the user's files that its definitions come from."""
    files = recipe.get("code", {}).get("fixed")
    if not files:
        return form_hash(recipe["fixed"])
    return form_hash({"fixed": recipe["fixed"], "files": files})


def all_own_files(recipe: Mapping[str, Any]) -> dict[str, str]:
    """Every own file in the canonical form of a recipe by name, the recipe's file first."""
    files = {}
    if recipe.get("file"):
        files[f"{recipe['name']}.py"] = recipe["file"]
    return files | recipe.get("code", {}).get("files", {})


def _code_values(values: Iterable[Any]) -> Iterator[Any]:
    """The classes and functions among these values, in them, or of which they are instances."""
    for value in values:
        if isinstance(value, Mapping):
            yield from _code_values(value.values())
        elif isinstance(value, tuple | list):
            yield from _code_values(value)
        elif isinstance(value, functools.partial):
            yield from _code_values([value.func, value.args, value.keywords])
        elif isinstance(value, type) or inspect.isfunction(value):
            yield value
        elif isinstance(value, Definition):
            yield type(value)
            yield from _code_values(value.settings.values())
        elif hasattr(value, "__dict__"):
            yield type(value)


def _files_behind(value: Any, recipe_file: Path | None) -> set[Path]:
    """The user's files that a class or function comes from or uses, without the recipe's file itself."""
    path = users_file(value)
    if path is None:
        return set()
    path = path.resolve()
    if path != recipe_file:
        return {path}
    bound, everything = bound_modules(path)
    used = {name.partition(".")[0] for name in used_values(value)}
    for node in ast.walk(source_tree(value)):
        if isinstance(node, ast.Name):
            used.add(node.id)
    for found in used_values(value).values():
        if isinstance(found, type) or inspect.isfunction(found):
            tree = source_tree(found)
            used |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    modules = set(everything)
    for name in used:
        modules |= bound.get(name, set())
    files: set[Path] = set()
    for module in modules:
        files |= module_files(module, path)
    return files - {path}
