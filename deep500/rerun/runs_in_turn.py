"""Trains the seeds of two recipes in turn, so that both meet the same states of the machine."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from ..contracts.recipe import Recipe
from ..distributed.distribution import recipe_distribution
from ..errors import Deep500Error
from ..training.events import Event
from ..training.planning import plan_here, tier_recipe
from .recipe_run import RecipeRun
from .recipe_runner import Outcome, finished_outcome

SIDES = ("a", "b")


def run_in_turn(
    recipes: Sequence[Recipe],
    folder: str | Path,
    tier: str = "small",
    seeds: int | Sequence[int] | None = None,
    resume: bool = False,
    events: Callable[[], Iterable[Event]] = tuple,
    threads: int | None = None,
    data: str | Path | None = None,
) -> list[Outcome]:
    """Train two recipes into the bundles `folder`/a and `folder`/b, seed by seed: A, B, then B, A, and so on.

    The options are those of `run`; `events` makes the events of one recipe. Both bundles say that they were trained
    in turn, which `d5 compare` takes into account.
    """
    for recipe in recipes:
        if recipe_distribution(recipe) is not None:
            raise Deep500Error(
                f"recipe {recipe.name} has ranks: recipes with ranks are run one by one"
            )
    folders = [Path(folder).absolute() / side for side in SIDES]
    outcomes: dict[int, Outcome] = {}
    with ExitStack() as recordings:
        runs: dict[int, RecipeRun] = {}
        for side, recipe in enumerate(recipes):
            changed = tier_recipe(recipe, tier)
            plan = plan_here(changed, tier, seeds, threads)
            plan = replace(plan, in_turn=_pair_id(folders))
            earlier = None
            if resume:
                earlier = finished_outcome(plan, folders[side])
            if earlier:
                outcomes[side] = earlier
                continue
            run = RecipeRun(changed, plan, events(), data)
            recordings.enter_context(run.recording(folders[side], resume))
            runs[side] = run
        _train(list(runs.values()))
        for side, run in runs.items():
            outcomes[side] = Outcome(folders[side], run.finish())
    return [outcomes[side] for side in range(len(recipes))]


def _train(runs: Sequence[RecipeRun]) -> None:
    """Train one seed of each run, then one of each in the opposite order (ABBA), so that drift cancels."""
    order = list(runs)
    while order:
        order = [run for run in order if run.train_next()]
        order.reverse()


def _pair_id(folders: Sequence[Path]) -> str:
    """What the bundles of one pair have in common, and no others."""
    text = "\n".join(map(str, folders))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
