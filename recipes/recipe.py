"""`from recipes.recipe import run_recipe`, as in the talks."""

from deep500.recipe import run_recipe as run_recipe
