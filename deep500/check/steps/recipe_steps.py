"""A recipe as a training: its network, its optimizer and the first examples of its data."""

import numpy as np

from ...contracts.dataset_splits import loaded_splits
from ...contracts.recipe import Recipe
from ...errors import Deep500Error
from ...frameworks import framework as adapter
from ...training.building import recipe_dataset, recipe_executor, recipe_task
from ...training.planning import tier_recipe
from .executor_steps import ExecutorSteps


def recipe_steps(
    recipe: Recipe, framework: str = "", examples: int = 8
) -> ExecutorSteps:
    """The training of one network; `framework` replaces the recipe's own."""
    for entry in ("procedure", "precision"):
        if recipe.has(entry):
            raise Deep500Error(
                f"recipe {recipe.name} has {entry!r}: recipes of one network and one optimizer are checked"
            )
    recipe = tier_recipe(recipe, "tiny")
    if framework:
        from_model = adapter(framework).from_model
        recipe = recipe.with_settings({"executor": from_model}, "closed")
    train = loaded_splits(recipe_dataset(recipe))["train"]
    executor = recipe_executor(recipe, recipe_task(recipe), train, 0, 1)
    rows = np.arange(min(examples, len(train)))
    batch = {name: np.asarray(column[rows]) for name, column in train.columns.items()}
    return ExecutorSteps(executor, recipe.make_optimizer(), batch)
