"""From the blocks of a recipe's run to its outcome: a pure function, so that `d5 verify` can do it again.

An epoch leaves {"seed", "series", "counters", "evaluation", "checkpoint"}: the numbers of its steps by the name of the
series ("loss", "seconds"), the counters so far ("samples"), and {"epoch", "step", "seconds", "validation"}, the last
of which has the qualities by name. The end of a seed leaves {"seed", "test", "build_seconds", "weights"}, and
"recorded" if the recipe has metrics of its own. The first block after a resumption has "resumed" (resumption.py). A
number that is not finite (a run that diverged) is null.

Version 0.1.0 wrote "losses", "step_seconds" and "samples" into an epoch, and the accuracy alone as "validation" and
"test"; both forms are read.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..contracts.metric import History
from ..errors import Deep500Error
from .claims import check_claims, judged_claims
from .metric_summary import ACCURACY, check_metric, metric_summary
from .metric_summary import CENSORING as CENSORING
from .metric_summary import qualities as qualities
from .resumption import is_resumption

PROCEDURE = 1  # counts up when the same blocks would give other numbers


def outcome(
    plan: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Every metric over the seeds, its interval, and whether the recipe's targets are met."""
    runs = trained_runs(blocks)
    if not runs:
        raise Deep500Error(
            "no seed has been trained to its end: there is nothing to report yet"
        )
    metrics = []
    for written, target in plan["recipe"]["metrics"]:
        metrics.append(metric_summary(written, target, runs, plan))
    numbers = {
        "procedure": PROCEDURE,
        "seeds": [run.seed for run in runs],
        "metrics": metrics,
        "acceptable": all(m["acceptable"] for m in metrics),
        "steps": [run.steps for run in runs],
        "seconds": [math.fsum(run.step_seconds) for run in runs],
        "build_seconds": [b["build_seconds"] for b in blocks if "test" in b],
    }
    if "claims" in plan["recipe"]:
        numbers["claims"] = judged_claims(plan, runs)
    return numbers


def histories(blocks: Sequence[Mapping[str, Any]]) -> list[History]:
    """The history of every seed, in the order in which they were trained."""
    by_seed: dict[int, list[Mapping[str, Any]]] = {}
    for block in blocks:
        by_seed.setdefault(block["seed"], []).append(block)
    return [_history(seed, own) for seed, own in by_seed.items()]


def trained_runs(blocks: Sequence[Mapping[str, Any]]) -> list[History]:
    """The histories of the seeds that were trained to their end."""
    return [
        run
        for run in histories(blocks)
        if run.evaluations and run.evaluations[-1]["test"]
    ]


def check_blocks(blocks: Sequence[object]) -> list[dict[str, Any]]:
    """The blocks of a bundle, if they have the form that the numbers need; the file may come from anyone."""
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not (_is_epoch(block) or _is_end(block)):
            raise Deep500Error(
                f"samples.jsonl: block {number} is neither an epoch nor the end of a seed"
            )
        if "resumed" in block and not is_resumption(block["resumed"]):
            raise Deep500Error(
                f"samples.jsonl: block {number} was resumed, and does not say where"
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
    if "task" in plan and not _is_task(plan["task"]):
        raise Deep500Error("plan.json: the task is not a name with its qualities")
    if not _are_texts(plan.get("unavailable", {})):
        raise Deep500Error("plan.json: what was unavailable is not a reason by name")
    for pair in recipe["metrics"]:
        if not (
            isinstance(pair, list)
            and len(pair) == 2
            and isinstance(pair[0], dict)
            and (pair[1] is None or _is_number(pair[1]))
        ):
            raise Deep500Error(
                "plan.json: a metric is not a definition with its target"
            )
        check_metric(pair[0], plan)
    check_claims(plan)
    return plan


def _history(seed: int, blocks: Sequence[Mapping[str, Any]]) -> History:
    series: dict[str, list[float]] = {"loss": [], "seconds": []}
    counters: dict[str, float] = {}
    evaluations: list[dict[str, Any]] = []
    recorded: dict[str, float | None] = {}
    for block in blocks:
        if "evaluation" in block:
            for name, numbers in _series(block).items():
                series.setdefault(name, []).extend(map(_or_nan, numbers))
            counters |= block.get("counters", {"samples": block.get("samples")})
            evaluation = block["evaluation"]
            evaluations.append(
                {
                    **evaluation,
                    "validation": _qualities(evaluation["validation"]),
                    "test": None,
                }
            )
        elif evaluations:
            evaluations[-1]["test"] = _qualities(block["test"])
            recorded = block.get("recorded", {})
    return History(seed, series, counters, evaluations, recorded)


def _series(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers of the steps of an epoch, of either form."""
    if "series" in block:
        return block["series"]
    return {"loss": block["losses"], "seconds": block["step_seconds"]}


def _qualities(value: Any) -> dict[str, float]:
    """Qualities by name; version 0.1.0 wrote the accuracy alone."""
    if not isinstance(value, Mapping):
        return {ACCURACY.name: value}
    return {name: _or_nan(number) for name, number in value.items()}


def _or_nan(number: float | None) -> float:
    return math.nan if number is None else number


def _is_epoch(block: dict) -> bool:
    if not _is_count(block.get("seed")) or not _is_evaluation(block.get("evaluation")):
        return False
    if "series" not in block:
        return _is_old_epoch(block)
    series, counters = block["series"], block.get("counters")
    return (
        isinstance(series, dict)
        and all(_are_numbers(numbers) for numbers in series.values())
        and isinstance(counters, dict)
        and all(map(_is_number, counters.values()))
        and {"loss", "seconds"} <= series.keys()
        and len(series["loss"]) == len(series["seconds"]) > 0
        and None not in series["seconds"]
    )


def _is_old_epoch(block: dict) -> bool:
    losses, seconds = block.get("losses"), block.get("step_seconds")
    return (
        _is_count(block.get("samples"))
        and _are_numbers(losses)
        and _are_numbers(seconds)
        and len(losses) == len(seconds) > 0  # type: ignore[arg-type]
        and None not in seconds  # type: ignore[operator]
    )


def _is_evaluation(record: object) -> bool:
    return (
        isinstance(record, dict)
        and _is_number(record.get("seconds"))
        and _are_qualities(record.get("validation"))
        and _is_count(record.get("epoch"))
        and _is_count(record.get("step"))
    )


def _is_end(block: dict) -> bool:
    recorded = block.get("recorded", {})
    return (
        _is_count(block.get("seed"))
        and _are_qualities(block.get("test"))
        and _is_number(block.get("build_seconds"))
        and isinstance(block.get("weights"), str)
        and isinstance(recorded, dict)
        and _are_numbers(list(recorded.values()))
        and "evaluation" not in block
    )


def _are_qualities(value: object) -> bool:
    if isinstance(value, dict):
        return bool(value) and _are_numbers(list(value.values()))
    return _is_number(value)


def _are_numbers(values: object) -> bool:
    """Whether this is a list of numbers; one that is not finite is null."""
    return isinstance(values, list) and all(v is None or _is_number(v) for v in values)


def _is_task(value: object) -> bool:
    entries = value.get("qualities") if isinstance(value, dict) else None
    return (
        isinstance(entries, list) and bool(entries) and all(map(_is_quality, entries))
    )


def _is_quality(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"name", "unit", "better"}
        and isinstance(value["name"], str)
        and isinstance(value["unit"], str)
        and value["better"] in ("lower", "higher")
    )


def _are_texts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(text, str) for text in value.values()
    )


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # type: ignore[arg-type]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
