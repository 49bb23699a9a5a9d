"""Plans and blocks of recipes' runs for tests, from the JSON documents of a bundle."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from deep500.contracts.metric_summary import MetricSummary
from deep500.results.outcomes.data import RecipeRecord
from deep500.results.recipe import Recipe
from deep500.training.recipe_blocks import RecipeBlock
from deep500.training.recipe_plan import RecipePlan

RECIPE = {"name": "mine", "file": None, "fixed": {}, "mutable": {}, "metrics": []}
PLAN = {"hash": "x", "tier": "tiny", "seeds": [], "epochs": 1, "level": 0.95}


def plan_document(recipe: object = None, **entries: Any) -> dict[str, Any]:
    """A plan with these entries of the recipe, and these of its own."""
    form = RECIPE | recipe if isinstance(recipe, dict) else recipe
    return PLAN | {"recipe": form} | entries


def checked_plan(document: object) -> RecipePlan:
    """The plan as a reader of the bundle gets it."""
    return Recipe().check_plan(document)


def checked_blocks(documents: Sequence[object]) -> list[RecipeBlock]:
    """The blocks as a reader of the bundle gets them."""
    return Recipe().check_blocks(checked_plan(plan_document({})), documents)


def checked_record(
    plan: object, blocks: Sequence[object], environment: Mapping[str, Any]
) -> RecipeRecord:
    """The record as a reader of the bundle gets it."""
    checked = checked_plan(plan)
    run = checked_blocks(blocks)
    numbers = Recipe().derive(checked, run)
    return RecipeRecord(Recipe(), checked, run, numbers, environment)


def summary(values: Sequence[float | None], **changes: Any) -> MetricSummary:
    """A metric with these values, without an interval; without a median if a seed has no value."""
    known = [value for value in values if value is not None]
    is_whole = bool(known) and len(known) == len(values)
    usual: dict[str, Any] = {
        "name": "M",
        "settings": {},
        "unit": "%",
        "kind": "quality",
        "better": "higher",
        "target": None,
        "values": list(values),
        "n": len(values),
        "level": 0.95,
        "median": median(known) if is_whole else None,
        "low": None,
        "high": None,
        "method": "none",
        "notes": [],
        "acceptable": True,
        "sure": True,
    }
    return MetricSummary(**usual | changes)
