"""The plan of a recipe's run: everything that decides what comes out, written down before anything is run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .. import registry
from ..contracts.canonical_form import canonical_form, source_hash
from ..contracts.framework import ITS_OWN
from ..contracts.recipe import Recipe
from ..contracts.recipe_entries import TABLE
from ..definition import Definition
from ..errors import Deep500Error, unknown
from .building import recipe_framework, recipe_task
from .metric_summary import CENSORING

LEVEL = 0.95
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class Tier:
    """How much of a recipe is run: fewer seeds and epochs, never another logic."""

    seeds: int
    epochs: float  # share of the recipe's


TIERS = {"tiny": Tier(2, 0.1), "small": Tier(6, 1.0), "full": Tier(20, 1.0)}


def tier_recipe(recipe: Recipe, tier: str) -> Recipe:
    """The recipe as this tier runs it."""
    if tier not in TIERS:
        raise unknown("tier", tier, TIERS)
    return recipe.at_tier(tier)


def make_plan(
    recipe: Recipe, tier: str, seeds: int | None = None, threads: int | None = None
) -> dict[str, Any]:
    """What will be run, for a recipe of `tier_recipe`."""
    task = recipe_task(recipe)
    if not task.qualities:
        raise Deep500Error(
            f"the task {type(task).__name__} has no `qualities`: say what an evaluation reports"
        )
    qualities = [asdict(quality) for quality in task.qualities]
    plan: dict[str, Any] = {
        "recipe": recipe.to_json(),
        "hash": recipe.hash,
        "fixed_hash": recipe.fixed_hash,
        "division": recipe.division,
        "tier": tier,
        "seeds": list(range(_seed_count(recipe, tier, seeds))),
        "epochs": _epochs(recipe, tier),
        "task": {"name": type(task).__name__, "qualities": qualities},
        "level": LEVEL,
        "censoring": CENSORING,
        "threads": recipe_threads(recipe, threads),
        "sources": definition_sources(recipe),
    }
    if recipe.differences:
        plan["differences"] = [list(difference) for difference in recipe.differences]
    if recipe.scale:
        plan["scale"] = canonical_form(recipe.scale)
    return plan


def recipe_threads(recipe: Recipe, threads: int | None = None) -> int | str:
    """One, so that a seed gives the same bits again, unless a number is asked for.

    A framework that cannot be told has its own number.
    """
    owner = recipe_framework(recipe)
    if owner is not None and not owner.sets_threads:
        if threads is not None:
            raise Deep500Error(
                f"{owner.name} has no setting for the number of threads: leave --threads out"
            )
        return ITS_OWN
    if threads is None:
        return 1
    if not 1 <= threads <= 4096:
        raise Deep500Error(f"{threads} threads make no sense: give 1 to 4096")
    return threads


def definition_sources(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Which class or function every definition of the recipe is, with the hash of its source."""
    sources: dict[str, dict[str, Any]] = {}
    for key, entry in TABLE.items():
        if not entry.definition or not recipe.has(key):
            continue
        value = recipe.entry(key)
        if isinstance(value, str):
            value = registry.named(entry.folder, value)
        elif isinstance(value, Definition):
            value = type(value)
        name = getattr(value, "__qualname__", type(value).__qualname__)
        module = getattr(value, "__module__", "")
        sources[key] = {"name": f"{module}:{name}", "source": source_hash(value)}
    return sources


def _seed_count(recipe: Recipe, tier: str, seeds: int | None) -> int:
    own: Mapping[str, Any] = recipe.tiers.get(tier, {})
    count = own.get("seeds", TIERS[tier].seeds) if seeds is None else seeds
    if not 1 <= count <= MOST_SEEDS:
        raise Deep500Error(f"{count} seeds make no sense: give 1 to {MOST_SEEDS}")
    return count


def _epochs(recipe: Recipe, tier: str) -> int:
    epochs = recipe.entry("epochs")
    if "epochs" in recipe.scale:
        return epochs
    return min(epochs, max(2, round(epochs * TIERS[tier].epochs)))
