"""The user's own files that take part in a recipe: the recipe's file, and what it imports from the user's folders."""

from collections.abc import Mapping
from typing import Any

from .canonical_form import form_hash


def fixed_form_hash(recipe: Mapping[str, Any]) -> str:
    """The hash of FIXED in the canonical form of a recipe, with the user's files that its definitions come from."""
    files = recipe.get("code", {}).get("fixed")
    if not files:
        return form_hash(recipe["fixed"])
    return form_hash({"fixed": recipe["fixed"], "files": files})
