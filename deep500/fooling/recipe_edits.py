"""Edits of the draft of a recipe's run that several ways of fooling need."""

import math
from collections.abc import Callable
from typing import Any

from ..errors import Deep500Error
from .draft import Draft

QUALITIES = ("Accuracy", "Quality", "Loss", "Gap")
UNTIL_TARGET = ("TimeToAccuracy", "TimeToQuality", "StepsToAccuracy")
THROUGHPUT = [{"definition": "Throughput", "settings": {}}, None]


def need_recipe(draft: Draft) -> None:
    """Raise a Deep500Error if it is no run of a recipe in today's form."""
    if draft.kind != "recipe":
        raise Deep500Error(
            f"this way fools with trained networks: give a bundle of `d5 run`, not of kind {draft.kind!r}"
        )
    if not any("series" in block for block in draft.blocks):
        raise Deep500Error("this bundle is of an old version: run the recipe again")


def need_one_process(draft: Draft) -> None:
    """Raise a Deep500Error if it is no run of a recipe in one process, whose steps have times."""
    need_recipe(draft)
    if "distribution" in draft.plan:
        raise Deep500Error("this way needs a run of one process, not of ranks")


def is_quality(metric: Any) -> bool:
    """Whether a metric is one of how good the network is, and not one of time to get there."""
    name = metric[0]["definition"]
    return name not in UNTIL_TARGET and any(word in name for word in QUALITIES)


def keep_metrics(draft: Draft, keep: Callable[[Any], bool]) -> None:
    """Report these metrics alone, or else the throughput."""
    recipe = draft.plan["recipe"]
    recipe["metrics"] = [metric for metric in recipe["metrics"] if keep(metric)]
    recipe["metrics"] = recipe["metrics"] or [THROUGHPUT]
    recipe.pop("claims", None)


def without_targets(metric: Any) -> bool:
    return metric[0]["definition"] not in UNTIL_TARGET


def scale_seconds(draft: Draft, factor: float) -> None:
    """Every step takes this many times its time, in whole nanoseconds; evaluations follow."""
    totals: dict[int, list[float]] = {}
    for block in draft.blocks:
        if "series" not in block:
            continue
        series = block["series"]
        for name in ("seconds", "data", "forward", "backward", "update"):
            if name in series:
                series[name] = [max(1e-7, round(s * factor, 9)) for s in series[name]]
        recount(block, totals)


def recount(block: dict[str, Any], totals: dict[int, list[float]]) -> None:
    """The time of an evaluation is that of all steps of its seed until then."""
    seconds = totals.setdefault(block["seed"], [])
    seconds += block["series"]["seconds"]
    block["evaluation"]["seconds"] = math.fsum(seconds)
    for look in block.get("within", []):
        look["seconds"] = math.fsum(seconds[: look["step"]])


def on_ranks(draft: Draft, factor: int, batch_factor: int) -> Draft:
    """The same run as one of so many times the ranks, each as fast as those that were measured."""
    study = draft.copy()
    ranks = factor * study.plan.get("distribution", {}).get("ranks", 1)
    mutable = study.plan["recipe"]["mutable"]
    local = int(mutable.get("batch_size", 64))
    whole = local * batch_factor
    mutable["batch_size"] = whole
    mutable["ranks"] = ranks
    study.plan["distribution"] = {
        "global_batch": whole,
        "local_batch": [whole // ranks] * ranks,
        "ranks": ranks,
        "scheme": "AllReduce",
        "transport": "mpi",
    }
    return study
