"""From "my_script.py:Training" to what is named there."""

from functools import partial
from pathlib import Path
from typing import Any

from ...errors import Deep500Error, unknown
from ...training.recipe_files import known_recipes, load_recipe
from ...user_files import imported, installed
from .recipe_steps import recipe_steps


def load_subject(text: str) -> Any:
    """A class, function, object or module, in a file (my.py:Training, my.py) or installed (package.module:Training).

    The name of a recipe of ours stands for a function that makes its training.
    """
    if text in known_recipes():
        return partial(recipe_steps, load_recipe(text))
    place, colon, name = text.rpartition(":")
    if not colon:
        place, name = text, ""
    if place.endswith(".py"):
        if not Path(place).is_file():
            raise Deep500Error(
                f"there is no file {place}: name a training as my_script.py:Training"
            )
        module = imported(Path(place))
    else:
        module = installed(place)
    if not name:
        return module
    value = getattr(module, name, None)
    if value is None:
        public = [key for key in vars(module) if not key.startswith("_")]
        raise unknown(f"training in {place}", name, public)
    return value
