"""Run a recipe: train every seed from its own initial weights."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from ..bundle.records.resuming import finished_record
from ..contracts.claim import Claim
from ..contracts.recipe import Recipe, own_definitions
from ..contracts.transport import DEADLINE
from ..distributed.distribution import recipe_distribution
from ..distributed.recipe_ranks import RecipeRanks
from ..results.outcomes.data import RecipeRecord, numbers_of
from ..schema import encoded
from ..training.events import Event
from ..training.planning import plan_here, tier_recipe
from ..training.recipe_numbers import RecipeNumbers
from ..training.recipe_plan import RecipePlan
from .recipe_run import RecipeRun


@dataclass(frozen=True)
class Outcome:
    """The result of a recipe's run; true if it is acceptable."""

    bundle: Path
    record: RecipeRecord
    trained: bool = True  # False: the bundle was finished already

    @property
    def derived(self) -> RecipeNumbers:
        """Every metric over the seeds, and what the seeds took."""
        return numbers_of(self.record)

    def __bool__(self) -> bool:
        return self.derived.acceptable


class RunOptions(TypedDict, total=False):
    """The options of `run`."""

    folder: str | Path | None
    tier: str
    seeds: int | Sequence[int] | None
    resume: bool
    events: Iterable[Event]
    threads: int | None
    data: str | Path | None
    expected_data: Mapping[str, str] | None
    deadline: float


def run_recipe(
    fixed: Mapping[str, Any],
    mutable: Mapping[str, Any],
    metrics: Any,
    *,
    name: str = "recipe",
    claims: Sequence[Claim] = (),
    tiers: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[RunOptions],
) -> Outcome:
    """Run a recipe given as its parts; the options are those of `run`.

    Names of definitions are looked up in the running script, too.
    """
    recipe = Recipe(
        name,
        fixed,
        mutable,
        metrics,
        claims=claims,
        tiers=tiers or {},
        definitions=own_definitions(vars(sys.modules["__main__"])),
    )
    return run(recipe, **options)


def run(
    recipe: Recipe,
    folder: str | Path | None = None,
    tier: str = "small",
    seeds: int | Sequence[int] | None = None,
    resume: bool = False,
    events: Iterable[Event] = (),
    threads: int | None = None,
    data: str | Path | None = None,
    expected_data: Mapping[str, str] | None = None,
    deadline: float = DEADLINE,
) -> Outcome:
    """Train every seed, write the bundle and return the outcome.

    `seeds` is how many seeds there are, or which ones. `threads` is the thread count of frameworks that have such a
    setting, `data` the folder with the data set's files. `expected_data` are the checksums that the splits must have.
    `deadline` is how long ranks wait for each other. `resume` continues the bundle in `folder` after its last epoch,
    starts it if it does not exist, and does nothing if it is finished.
    """
    recipe = tier_recipe(recipe, tier)
    plan = plan_here(recipe, tier, seeds, threads)
    distribution = recipe_distribution(recipe)
    if distribution is not None:
        form = distribution.form(recipe.entry("batch_size"))
        plan = replace(plan, distribution=form)
    group = RecipeRanks(recipe, distribution, deadline) if distribution else None
    if resume and folder:
        earlier = finished_outcome(plan, folder)
        if earlier:
            if group:
                group.order(None)
            return earlier
    recipe_run = RecipeRun(recipe, plan, events, data, group, expected_data)
    with recipe_run.recording(folder, resume):
        while recipe_run.train_next():
            pass
        record = recipe_run.finish()
    return Outcome(recipe_run.record.folder, record)


def finished_outcome(plan: RecipePlan, folder: str | Path) -> Outcome | None:
    """The outcome of a run of this plan that is finished already; None if there is none."""
    record = finished_record("recipe", encoded(plan), folder)
    if record is None:
        return None
    return Outcome(Path(folder), record, trained=False)
