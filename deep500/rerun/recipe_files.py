"""The functions of training/recipe_files.py, under the name that other modules know."""

from ..training.recipe_files import known_recipes as known_recipes
from ..training.recipe_files import load_recipe as load_recipe
from ..training.recipe_files import namespace_of as namespace_of
from ..training.recipe_files import readable_namespace as readable_namespace
from ..training.recipe_files import recipe_file as recipe_file
