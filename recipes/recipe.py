"""`from recipes.recipe import run_recipe`, as in the talks: runs a recipe, and says what came out."""

from typing import Any

from deep500 import recipe_runner
from deep500.reports.terminal import terminal


def run_recipe(
    fixed: dict, mutable: dict, metrics: list, **how: Any
) -> recipe_runner.Outcome:
    """Run it, print the outcome, and return something true if it is acceptable."""
    outcome = recipe_runner.run_recipe(fixed, mutable, metrics, **how)
    print(terminal(outcome.record.report()))
    return outcome
