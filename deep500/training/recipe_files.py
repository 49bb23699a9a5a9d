"""Recipes in Python files: a user's own, and those that come with Deep500."""

import hashlib
import importlib.util
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any

from ..contracts.recipe import Recipe, own_definitions
from ..errors import Deep500Error, did_you_mean, with_place
from ..hashing.source_form import RECIPE_MODULE
from ..own_modules import own_modules
from ..user_files import imported


def load_recipe(path: str | Path) -> Recipe:
    """The recipe of a Python file, or of ours with that name; the file is run, except for its __main__ part."""
    path = recipe_file(path)
    parts = readable_namespace(path, "recipe")
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
        path=path.absolute(),
    )


def recipe_file(path: str | Path) -> Path:
    """The file at this path, or of our recipe with that name; a Deep500Error if there is neither."""
    path, our_recipes = Path(path), known_recipes()
    if not path.is_file() and str(path) in our_recipes:
        path = our_recipes[str(path)]
    if not path.is_file():
        suggestion = did_you_mean(str(path), our_recipes)
        names = ", ".join(our_recipes)
        raise Deep500Error(
            f"there is no recipe {path}.{suggestion} Give a file, or one of {names}"
        )
    return path


def readable_namespace(path: Path, role: str) -> dict[str, Any]:
    """The names that a user's file defines; what it raises is told as an error of that `role`."""
    try:
        return namespace_of(path)
    except (Deep500Error, KeyboardInterrupt):
        raise
    except BaseException as error:
        # a user's file may raise anything, even SystemExit
        reason = with_place(error)
        raise Deep500Error(f"the {role} {path} cannot be read: {reason}") from None


def namespace_of(path: Path) -> dict[str, Any]:
    """Run a file, which may import modules of its folder, and return the names that it defines.

    The file stays in sys.modules so that inspect finds the source of its classes.
    """
    location = str(path.absolute())
    stem = re.sub(r"\W", "_", path.stem)
    number = hashlib.sha256(location.encode()).hexdigest()[:8]
    # a name of its own, since two recipes may have files of the same name
    name = f"{RECIPE_MODULE}{stem}_{number}"
    with own_modules(path.parent, imported):
        names = runpy.run_path(location, run_name=name)
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)
    return names


def known_recipes() -> dict[str, Path]:
    """The recipes that come with Deep500, by name."""
    spec = importlib.util.find_spec("recipes")
    if spec is None:
        return {}
    recipes = {}
    for folder in spec.submodule_search_locations or []:
        for file in sorted(Path(folder).glob("[!_]*.py")):
            if file.stem != "recipe":
                recipes[file.stem] = file
    return recipes
