"""`from recipes.recipe import run_recipe`, as in the talks: runs a recipe, and says what came out."""

import functools
from typing import Any

import deep500 as d5
from deep500.reports.terminal import terminal


@functools.wraps(d5.run_recipe)
def run_recipe(*parts: Any, **options: Any) -> Any:
    """Run it, print the outcome, and return something true if it is acceptable."""
    outcome = d5.run_recipe(*parts, **options)
    print(terminal(outcome.record.report()))
    return outcome
