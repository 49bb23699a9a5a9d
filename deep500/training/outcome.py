"""Computes the outcome of a recipe's run from its blocks: a pure function, so that `d5 verify` can repeat it.

The block of an epoch is {"seed", "series", "counters", "evaluation", "checkpoint"}: the numbers of its steps by the
name of the series ("loss", "seconds"), the counters so far ("samples"), and {"epoch", "step", "seconds",
"validation"}, where "validation" has the qualities by name; "load" has the share of the CPUs that others used, if the
epoch was long enough to measure it. With `evaluate_every` in the plan, "within" lists the evaluations between the
steps of the epoch, in the form of "evaluation". The block that ends a seed is {"seed", "test",
"build_seconds", "weights"}, with "recorded" if the recipe defines metrics itself, and "ended", the reason, if it
stopped before its last epoch. A seed that crashed ends with {"seed", "crashed", "build_seconds"}, where "crashed" is
what it crashed of. The first block after a resumption also has "resumed" (see resumption.py). A number
that is not finite (a run that diverged) is null.

Version 0.1.0 wrote "losses", "step_seconds" and "samples" into the block of an epoch, and the accuracy alone as
"validation" and "test"; both forms can be read.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..contracts.metric import History
from ..errors import Deep500Error
from ..measure.interference import is_load
from .claims import check_claims, judged_claims
from .metric_summary import ACCURACY, check_metric, metric_summary
from .metric_summary import qualities as qualities
from .resumption import is_resumption

PROCEDURE = 2  # to be increased when the same blocks would give other numbers


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
    last_blocks = [block for block in blocks if is_end(block)]
    numbers: dict[str, Any] = {"procedure": PROCEDURE}
    numbers["seeds"] = [run.seed for run in runs]
    numbers["metrics"] = metrics
    numbers["acceptable"] = all(metric["acceptable"] for metric in metrics)
    numbers["steps"] = [run.steps for run in runs]
    numbers["seconds"] = [math.fsum(run.step_seconds) for run in runs]
    numbers["build_seconds"] = [block["build_seconds"] for block in last_blocks]
    if "claims" in plan["recipe"]:
        numbers["claims"] = judged_claims(plan, runs)
    numbers["failed"] = [
        {"seed": run.seed, "reason": run.failure} for run in runs if run.failure
    ]
    return numbers


def histories(blocks: Sequence[Mapping[str, Any]]) -> list[History]:
    """The history of every seed, in the order in which they were trained."""
    by_seed: dict[int, list[Mapping[str, Any]]] = {}
    for block in blocks:
        by_seed.setdefault(block["seed"], []).append(block)
    return [_history(seed, blocks_of_seed) for seed, blocks_of_seed in by_seed.items()]


def trained_runs(blocks: Sequence[Mapping[str, Any]]) -> list[History]:
    """The histories of the seeds that were trained to their end, or crashed on the way."""
    trained = []
    for run in histories(blocks):
        is_trained = run.evaluations and run.evaluations[-1]["test"]
        if is_trained or run.crashed:
            trained.append(run)
    return trained


def is_end(block: Mapping[str, Any]) -> bool:
    """Whether this block is the last one of its seed."""
    return "test" in block or "crashed" in block


def check_blocks(blocks: Sequence[object]) -> list[dict[str, Any]]:
    """Return the blocks of a bundle; raise a Deep500Error if they are malformed, since the file is not trusted."""
    for number, block in enumerate(blocks):
        if not isinstance(block, dict) or not _is_epoch_or_end(block):
            raise Deep500Error(
                f"samples.jsonl: block {number} is neither an epoch nor the end of a seed"
            )
        if "resumed" in block and not is_resumption(block["resumed"]):
            raise Deep500Error(
                f"samples.jsonl: block {number} was resumed, and does not say where"
            )
    return list(blocks)  # type: ignore[arg-type]


def check_plan(plan: object) -> dict[str, Any]:
    """Return the plan of a recipe's bundle; raise a Deep500Error if it is malformed."""
    if not isinstance(plan, dict) or not _is_recipe(plan.get("recipe")):
        raise Deep500Error("plan.json holds no recipe with metrics")
    if not isinstance(plan.get("level"), float) or not 0 < plan["level"] < 1:
        raise Deep500Error("plan.json: level is not a number between 0 and 1")
    if "task" in plan and not _is_task(plan["task"]):
        raise Deep500Error("plan.json: the task is not a name with its qualities")
    if plan.get("evaluate_every", 1) == 0 or not _is_count(
        plan.get("evaluate_every", 1)
    ):
        raise Deep500Error("plan.json: evaluate_every is not a number of steps")
    if not _are_texts(plan.get("unavailable", {})):
        raise Deep500Error("plan.json: what was unavailable is not a reason by name")
    for pair in plan["recipe"]["metrics"]:
        if not _is_metric_with_target(pair):
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
    within_epochs: list[dict[str, Any]] = []
    recorded: dict[str, float | None] = {}
    ended = crashed = ""
    for block in blocks:
        if "evaluation" in block:
            for name, numbers in step_series(block).items():
                series.setdefault(name, []).extend(map(_or_nan, numbers))
            counters |= block.get("counters", {"samples": block.get("samples")})
            evaluation = dict(block["evaluation"])
            evaluation["validation"] = _qualities(evaluation["validation"])
            evaluation["test"] = None
            evaluations.append(evaluation)
            for look in block.get("within", []):
                validation = _qualities(look["validation"])
                within_epochs.append({**look, "validation": validation})
        elif "crashed" in block:
            crashed = block["crashed"]
        elif evaluations:
            evaluations[-1]["test"] = _qualities(block["test"])
            recorded = block.get("recorded", {})
            ended = block.get("ended", "")
    return History(
        seed,
        series,
        counters,
        evaluations,
        within_epochs,
        recorded,
        ended,
        crashed,
    )


def step_series(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """The numbers of the steps of an epoch, in either form of its block."""
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


def _is_epoch_or_end(block: dict) -> bool:
    return _is_epoch(block) or _is_end(block)


def _is_epoch(block: dict) -> bool:
    if not _is_count(block.get("seed")):
        return False
    if not _is_evaluation(block.get("evaluation")):
        return False
    within = block.get("within", [])
    if not isinstance(within, list) or not all(map(_is_evaluation, within)):
        return False
    if "load" in block and not is_load(block["load"], 0):
        return False
    if "series" not in block:
        return _is_old_epoch(block)
    series, counters = block["series"], block.get("counters")
    if not isinstance(series, dict) or not isinstance(counters, dict):
        return False
    if not all(_are_numbers(numbers) for numbers in series.values()):
        return False
    if not all(_is_number(number) for number in counters.values()):
        return False
    return _are_steps(series.get("loss"), series.get("seconds"))


def _is_old_epoch(block: dict) -> bool:
    """Whether this is an epoch as version 0.1.0 wrote it."""
    if not _is_count(block.get("samples")):
        return False
    return _are_steps(block.get("losses"), block.get("step_seconds"))


def _are_steps(losses: object, seconds: object) -> bool:
    """Whether these lists have one loss and one time for each step, and there is a step."""
    if not isinstance(losses, list) or not isinstance(seconds, list):
        return False
    if not _are_numbers(losses) or not _are_numbers(seconds):
        return False
    return len(losses) == len(seconds) > 0 and None not in seconds


def _is_evaluation(record: object) -> bool:
    if not isinstance(record, dict):
        return False
    if not _is_number(record.get("seconds")):
        return False
    if not _are_qualities(record.get("validation")):
        return False
    return _is_count(record.get("epoch")) and _is_count(record.get("step"))


def _is_end(block: dict) -> bool:
    """Whether this is the block that ends a seed."""
    if "evaluation" in block or not _is_count(block.get("seed")):
        return False
    if not _is_number(block.get("build_seconds")):
        return False
    if "crashed" in block:
        reason = block["crashed"]
        return isinstance(reason, str) and bool(reason) and "test" not in block
    if not _are_qualities(block.get("test")):
        return False
    if not isinstance(block.get("weights"), str):
        return False
    if not isinstance(block.get("ended", ""), str):
        return False
    recorded = block.get("recorded", {})
    return isinstance(recorded, dict) and _are_numbers(list(recorded.values()))


def _is_recipe(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("metrics"), list)


def _is_metric_with_target(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return False
    metric, target = value
    return isinstance(metric, dict) and (target is None or _is_number(target))


def _are_qualities(value: object) -> bool:
    if isinstance(value, dict):
        return bool(value) and _are_numbers(list(value.values()))
    return _is_number(value)


def _are_numbers(values: object) -> bool:
    """Whether this is a list of numbers, where null stands for one that is not finite."""
    if not isinstance(values, list):
        return False
    return all(value is None or _is_number(value) for value in values)


def _is_task(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    entries = value.get("qualities")
    if not isinstance(entries, list) or not entries:
        return False
    return all(_is_quality(entry) for entry in entries)


def _is_quality(value: object) -> bool:
    needed = {"name", "unit", "better"}
    if not isinstance(value, dict) or not needed <= value.keys():
        return False
    ends = {"low", "high"} & value.keys()
    if value.keys() != needed | ends:
        return False
    if not all(_is_number(value[end]) for end in ends):
        return False
    if not isinstance(value["name"], str) or not isinstance(value["unit"], str):
        return False
    return value["better"] in ("lower", "higher")


def _are_texts(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    return all(isinstance(text, str) for text in value.values())


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < 1e300  # type: ignore[arg-type]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 62
