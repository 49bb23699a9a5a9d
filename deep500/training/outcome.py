"""Computes the outcome of a recipe's run from its blocks: a pure function, so that `d5 verify` can repeat it."""

import math
from dataclasses import replace
from typing import Any

from ..contracts.metric import History
from ..errors import Deep500Error
from ..schema import decoded
from .claims import judged_claims, recorded_claim
from .metric_summary import metric_summary, recorded_metric
from .recipe_blocks import (
    Blocks,
    Epoch,
    Look,
    Numbers,
    Qualities,
    RecipeBlock,
    SeedCrash,
    blocks_by_seed,
    ends_of,
)
from .recipe_numbers import FailedSeed, RecipeNumbers
from .recipe_plan import RecipePlan

PROCEDURE = 2  # to be increased when the same blocks would give other numbers


def recipe_plan(document: object) -> RecipePlan:
    """The plan of that form, whose metrics and claims can be made; else a Deep500Error."""
    plan = decoded(RecipePlan, document, "plan.json")
    for form, _ in plan.recipe.metrics:
        recorded_metric(form, plan)
    for claim in plan.recipe.claims:
        recorded_claim(claim, plan)
    return plan


def outcome(plan: RecipePlan, blocks: Blocks) -> RecipeNumbers:
    """Every metric over the seeds, its interval, and whether the recipe's targets are met."""
    runs = trained_runs(blocks)
    if not runs:
        raise Deep500Error(
            "no seed has been trained to its end: there is nothing to report yet"
        )
    metrics = []
    for form, target in plan.recipe.metrics:
        metrics.append(metric_summary(form, target, runs, plan))
    return RecipeNumbers(
        seeds=[run.seed for run in runs],
        metrics=metrics,
        acceptable=all(metric.acceptable for metric in metrics),
        steps=[run.steps for run in runs],
        seconds=[math.fsum(run.step_seconds) for run in runs],
        build_seconds=[block.build_seconds for block in ends_of(blocks)],
        claims=judged_claims(plan, runs),
        failed=[FailedSeed(run.seed, run.failure) for run in runs if run.failure],
    )


def histories(blocks: Blocks) -> list[History]:
    """The history of every seed, in the order in which they were trained."""
    by_seed = blocks_by_seed(blocks)
    return [_history(seed, of_seed) for seed, of_seed in by_seed.items()]


def trained_runs(blocks: Blocks) -> list[History]:
    """The histories of the seeds that were trained to their end, or crashed on the way."""
    trained = []
    for run in histories(blocks):
        is_trained = run.evaluations and run.evaluations[-1]["test"]
        if is_trained or run.crashed:
            trained.append(run)
    return trained


def _history(seed: int, blocks: list[RecipeBlock]) -> History:
    history = History(seed, {"loss": [], "seconds": []})
    ended = crashed = ""
    recorded: dict[str, float | None] = {}
    for block in blocks:
        if isinstance(block, Epoch):
            _add_epoch(history, block)
        elif isinstance(block, SeedCrash):
            crashed = block.crashed
        elif history.evaluations:
            history.evaluations[-1]["test"] = _with_nan(block.test)
            recorded |= block.recorded
            ended = block.ended
    return replace(history, recorded=recorded, ended=ended, crashed=crashed)


def _add_epoch(history: History, epoch: Epoch) -> None:
    for name, numbers in epoch.series.items():
        history.series.setdefault(name, []).extend(_or_nan(numbers))
    history.counters.update(epoch.counters)
    history.evaluations.append({**_evaluation(epoch.evaluation), "test": None})
    history.within_epochs.extend(map(_evaluation, epoch.within))


def _evaluation(look: Look) -> dict[str, Any]:
    """An evaluation as metrics read it."""
    return {
        "epoch": look.epoch,
        "step": look.step,
        "seconds": look.seconds,
        "validation": _with_nan(look.validation),
    }


def _with_nan(qualities: Qualities) -> dict[str, float]:
    return dict(zip(qualities, _or_nan(list(qualities.values())), strict=True))


def _or_nan(numbers: Numbers) -> list[float]:
    return [math.nan if number is None else number for number in numbers]
