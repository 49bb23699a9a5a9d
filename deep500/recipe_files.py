"""Recipes in Python files: a user's own, and those that come with Deep500."""

import hashlib
import importlib.util
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any

from .contracts.recipe import Recipe, own_definitions
from .errors import Deep500Error, did_you_mean, one_line
from .import_path import add_import_folder


def load_recipe(path: str | Path) -> Recipe:
    """Read FIXED, MUTABLE and METRICS from a Python file, which is run for that; its __main__ part is not."""
    path, known = Path(path), known_recipes()
    if not path.is_file() and str(path) in known:
        path = known[str(path)]
    if not path.is_file():
        raise Deep500Error(
            f"there is no recipe {path}.{did_you_mean(str(path), known)} Give a file, or one of "
            f"{', '.join(known)}"
        )
    try:
        parts = _namespace(path)
    except Deep500Error:
        raise
    except (
        BaseException
    ) as error:  # whatever a file from anyone does, including sys.exit
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Deep500Error(
            f"the recipe {path} cannot be read: {one_line(error, kind=True)}"
        ) from None
    for part in ("FIXED", "MUTABLE", "METRICS"):
        if part not in parts:
            raise Deep500Error(
                f"the recipe {path} has no {part}: a recipe is FIXED + MUTABLE + METRICS"
            )
    source = hashlib.sha256(path.read_bytes()).hexdigest()
    return Recipe(
        path.stem,
        parts["FIXED"],
        parts["MUTABLE"],
        parts["METRICS"],
        source,
        claims=parts.get("CLAIMS", ()),
        tiers=parts.get("TIERS", {}),
        definitions=own_definitions(parts),
    )


def _namespace(path: Path) -> dict[str, Any]:
    """The names that a file defines, which may import modules of its folder.

    It stays among the modules, so that the sources of its classes are found.
    """
    add_import_folder(path.parent)
    name = "d5_recipe_" + re.sub(r"\W", "_", path.stem)
    names = runpy.run_path(str(path.absolute()), run_name=name)
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)
    return names


def known_recipes() -> dict[str, Path]:
    """The recipes that come with Deep500, by name."""
    spec = importlib.util.find_spec("recipes")
    folders = spec.submodule_search_locations or [] if spec else []
    return {
        file.stem: file
        for folder in folders
        for file in sorted(Path(folder).glob("[!_]*.py"))
        if file.stem != "recipe"
    }
