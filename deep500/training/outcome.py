"""From the blocks of a recipe's run to its outcome: a pure function, so that `d5 verify` can do it again.

An epoch leaves {"seed", "losses", "step_seconds", "samples", "evaluation", "checkpoint"}, the end of a seed leaves
{"seed", "test", "build_seconds", "weights"}. A loss that is not a number (a run that diverged) is null.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .. import registry
from ..contracts.metric import History, Metric
from ..errors import Deep500Error, TooFewSamples
from ..measure.statistics.intervals import interval

PROCEDURE = 1  # counts up when the same blocks would give other numbers


def outcome(plan: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Every metric over the seeds, its interval, and whether the recipe's targets are met."""
    runs = [
        run
        for run in histories(blocks)
        if run.evaluations and run.evaluations[-1]["test"] is not None
    ]
    if not runs:
        raise Deep500Error("no seed has been trained to its end: there is nothing to report yet")
    metrics = [
        _metric(_definition(definition), target, runs, plan["level"])
        for definition, target in plan["recipe"]["metrics"]
    ]
    return {
        "procedure": PROCEDURE,
        "seeds": [run.seed for run in runs],
        "metrics": metrics,
        "acceptable": all(m["acceptable"] for m in metrics),
        "steps": [run.steps for run in runs],
        "seconds": [math.fsum(run.step_seconds) for run in runs],
        "build_seconds": [b["build_seconds"] for b in blocks if "test" in b],
    }


def histories(blocks: Sequence[Mapping[str, Any]]) -> list[History]:
    """The history of every seed, in the order in which they were trained."""
    found: dict[int, list[Mapping[str, Any]]] = {}
    for block in blocks:
        found.setdefault(block["seed"], []).append(block)
    return [_history(seed, own) for seed, own in found.items()]


def check_blocks(blocks: Sequence[object]) -> list[dict[str, Any]]:
    """The blocks of a bundle, if they have the form that the numbers need; the file may come from anyone."""
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not (_is_epoch(block) or _is_end(block)):
            raise Deep500Error(
                f"samples.jsonl: block {number} is neither an epoch nor the end of a seed"
            )
    return list(blocks)  # type: ignore[arg-type]


def check_plan(plan: object) -> dict[str, Any]:
    """The plan of a recipe's bundle, if it has the form that the numbers need."""
    recipe = plan.get("recipe") if isinstance(plan, dict) else None
    if (
        not isinstance(plan, dict)
        or not isinstance(recipe, dict)
        or not isinstance(recipe.get("metrics"), list)
    ):
        raise Deep500Error("plan.json holds no recipe with metrics")
    if not isinstance(plan.get("level"), float) or not 0 < plan["level"] < 1:
        raise Deep500Error("plan.json: level is not a number between 0 and 1")
    for pair in recipe["metrics"]:
        if not (
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], dict)
            and (pair[1] is None or _is_number(pair[1]))
        ):
            raise Deep500Error("plan.json: a metric is not a definition with its target")
        _definition(pair[0])
    return plan


def _definition(written: Mapping[str, Any]) -> Metric:
    """One of our metrics by its name; nothing else is ever looked up, so that a file cannot name code to run."""
    try:
        return registry.find("metrics", str(written.get("definition")))(
            **written.get("settings", {})
        )
    except TypeError as error:
        raise Deep500Error(
            f"plan.json: the metric {written.get('definition')!r} cannot be made: {error}"
        ) from None


def _history(seed: int, blocks: Sequence[Mapping[str, Any]]) -> History:
    epochs = [b for b in blocks if "losses" in b]
    losses = [math.nan if loss is None else loss for b in epochs for loss in b["losses"]]
    evaluations = [dict(b["evaluation"]) for b in epochs]
    for block in blocks:
        if "test" in block and evaluations:
            evaluations[-1]["test"] = block["test"]
    return History(
        seed,
        len(losses),
        losses,
        [s for b in epochs for s in b["step_seconds"]],
        evaluations,
        epochs[-1]["samples"] if epochs else 0,
    )


def _metric(
    metric: Metric, target: float | None, runs: Sequence[History], level: float
) -> dict[str, Any]:
    values = [v if v is not None and math.isfinite(v) else None for v in map(metric.value, runs)]
    reached = [v for v in values if v is not None]
    # A run that never got there (or diverged) is the worst; then the median is one of the values, the worse of two.
    ranked = [None] * (len(values) - len(reached)) + sorted(
        reached, reverse=metric.better == "lower"
    )
    middle = median(reached) if len(reached) == len(values) else ranked[(len(ranked) - 1) // 2]
    found: dict[str, Any] = {
        "name": type(metric).__name__,
        "settings": metric.settings,
        "unit": metric.unit,
        "kind": metric.kind,
        "better": metric.better,
        "target": target,
        "values": values,
        "n": len(values),
        "level": level,
        "median": middle,
        "low": None,
        "high": None,
        "method": "none",
        "notes": [],
        "acceptable": target is None or metric.meets(middle, target),
        "sure": target is None,
    }
    if len(reached) < len(values):
        found["notes"] = [
            f"{len(values) - len(reached)} of {len(values)} seeds never reached it, or diverged"
        ]
        return found
    try:
        known = (
            interval([[v] for v in reached], level=level)
            if len(reached) > 1
            else interval(reached, level=level)
        )
        found |= {
            "median": known.estimate,
            "low": known.low,
            "high": known.high,
            "method": known.method.replace("process medians", "values of seeds"),
            "acceptable": target is None or metric.meets(known.estimate, target),
            "sure": target is None
            or (metric.meets(known.low, target) and metric.meets(known.high, target)),
        }
    except TooFewSamples as reason:
        found["notes"] = [f"no interval: {str(reason).replace('processes', 'seeds')}"]
    return found


def _is_epoch(block: dict) -> bool:
    losses, seconds, record = (
        block.get("losses"),
        block.get("step_seconds"),
        block.get("evaluation"),
    )
    return (
        _is_count(block.get("seed"))
        and _is_count(block.get("samples"))
        and isinstance(record, dict)
        and isinstance(losses, list)
        and isinstance(seconds, list)
        and len(losses) == len(seconds) > 0
        and all(loss is None or _is_number(loss) for loss in losses)
        and all(map(_is_number, seconds))
        and all(_is_number(record.get(key)) for key in ("seconds", "validation"))
        and all(_is_count(record.get(key)) for key in ("epoch", "step"))
    )


def _is_end(block: dict) -> bool:
    return (
        _is_count(block.get("seed"))
        and _is_number(block.get("test"))
        and _is_number(block.get("build_seconds"))
        and isinstance(block.get("weights"), str)
        and "losses" not in block
    )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # type: ignore[arg-type]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
