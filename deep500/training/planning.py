"""The plan of a recipe's run: everything that determines the outcome, written down before the run begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import registry
from ..canonical import shown
from ..contracts.device import DeviceInfo
from ..contracts.framework import ITS_OWN
from ..contracts.recipe import Recipe
from ..contracts.recipe_entries import TABLE
from ..definition import Definition
from ..errors import Deep500Error, unknown
from ..hashing.canonical_form import canonical_form, source_form
from ..hashing.source_form import full_name
from ..schema import decoded
from .building import recipe_framework, recipe_task
from .recipe_plan import DefinitionSource, RecipeForm, RecipePlan, TaskForm

LEVEL = 0.95
MOST_SEEDS = 10_000


@dataclass(frozen=True)
class RecipeTier:
    """How much of a recipe is run: a tier has fewer seeds and epochs, but never different logic."""

    seeds: int
    epochs: float  # as a fraction of the recipe's epochs


TIERS = {
    "tiny": RecipeTier(2, 0.1),
    "small": RecipeTier(6, 1.0),
    "full": RecipeTier(20, 1.0),
}


def tier_recipe(recipe: Recipe, tier: str) -> Recipe:
    """The recipe with the changes of a tier; raises a Deep500Error for an unknown tier."""
    if tier not in TIERS:
        raise unknown("tier", tier, TIERS)
    return recipe.at_tier(tier)


def plan_here(
    recipe: Recipe,
    tier: str,
    seeds: int | Sequence[int] | None = None,
    threads: int | None = None,
) -> RecipePlan:
    """The plan for a run on this machine: with the device that the recipe asks for, which must be there."""
    device = _device(recipe)
    return replace(make_plan(recipe, tier, seeds, threads), device=device)


def make_plan(
    recipe: Recipe,
    tier: str,
    seeds: int | Sequence[int] | None = None,
    threads: int | None = None,
) -> RecipePlan:
    """The plan for a recipe that `tier_recipe` returned; `seeds` is their number, or which ones."""
    task = recipe_task(recipe)
    if not task.qualities:
        raise Deep500Error(
            f"the task {type(task).__name__} has no `qualities`: say what an evaluation reports"
        )
    form = decoded(RecipeForm, recipe.to_json(), f"recipe {recipe.name}")
    every = recipe.entry("evaluate_every", None)
    return RecipePlan(
        recipe=form,
        hash=recipe.hash,
        fixed_hash=recipe.fixed_hash,
        division=recipe.division,
        tier=tier,
        seeds=_seeds(recipe, tier, seeds),
        epochs=planned_epochs(recipe, tier),
        evaluate_every=every,
        task=TaskForm(type(task).__name__, task.qualities),
        level=LEVEL,
        threads=recipe_threads(recipe, threads),
        sources=definition_sources(recipe),
        differences=recipe.differences,
        scale=canonical_form(recipe.scale) if recipe.scale else None,
    )


def _device(recipe: Recipe) -> DeviceInfo | None:
    """What the device that the recipe asks for is on this machine; None for the host."""
    asked = recipe.entry("executor_kwargs", {}).get("device")
    owner = recipe_framework(recipe)
    if asked is None or owner is None:
        return None
    bound = owner.on(asked)
    return None if bound.on_host else bound.device_info


def recipe_threads(recipe: Recipe, threads: int | None = None) -> int | str:
    """The number of threads of a run: `threads`, or one by default, so that a seed reproduces the same bits.

    For a framework without such a setting it is `ITS_OWN`.
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


def definition_sources(recipe: Recipe) -> dict[str, DefinitionSource]:
    """The class or function of every definition in the recipe, with the hash of its source."""
    sources: dict[str, DefinitionSource] = {}
    for key, entry in TABLE.items():
        if not entry.definition or not recipe.has(key):
            continue
        value = recipe.entry(key)
        if isinstance(value, str):
            value = registry.named(entry.folder, value)
        elif isinstance(value, Definition):
            value = type(value)
        if not hasattr(value, "__qualname__"):
            value = type(value)
        form = {"name": full_name(value), **source_form(value)}
        sources[key] = decoded(DefinitionSource, form, f"recipe {recipe.name}: {key}")
    return sources


def _seeds(recipe: Recipe, tier: str, seeds: int | Sequence[int] | None) -> list[int]:
    if seeds is None or isinstance(seeds, int):
        return list(range(_seed_count(recipe, tier, seeds)))
    chosen = list(seeds)
    if not 1 <= len({*chosen}) == len(chosen) <= MOST_SEEDS:
        raise Deep500Error(
            f"the seeds are {shown(chosen)}: give 1 to {MOST_SEEDS} different ones"
        )
    return chosen


def _seed_count(recipe: Recipe, tier: str, seeds: int | None) -> int:
    count = seeds
    if count is None:
        recipe_tier: Mapping[str, Any] = recipe.tiers.get(tier, {})
        count = recipe_tier.get("seeds", TIERS[tier].seeds)
    if not 1 <= count <= MOST_SEEDS:
        raise Deep500Error(f"{count} seeds make no sense: give 1 to {MOST_SEEDS}")
    return count


def planned_epochs(recipe: Recipe, tier: str) -> int:
    """How many epochs are trained at a tier, of a recipe that `tier_recipe` returned."""
    epochs = recipe.entry("epochs")
    if "epochs" in recipe.scale:
        return epochs
    return tier_epochs(epochs, tier)


def tier_epochs(epochs: int, tier: str) -> int:
    """The epochs of a tier that a recipe does not describe itself, from those of the recipe."""
    reduced = round(epochs * TIERS[tier].epochs)
    return min(epochs, max(2, reduced))
