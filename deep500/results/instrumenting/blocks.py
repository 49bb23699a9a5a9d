"""The blocks of an instrumented script, checked: a file may come from anyone.

A stretch of steps:  {"steps": {"first": 1, "seconds": [s …], "examples": [n or null …], "values": {"loss": [v …]},
                     "regions": {"forward": [s …]}, "outside": s, "recording": s}}
An evaluation:       {"evaluation": {"step": n, "split": "validation", "qualities": {"accuracy": v}, "seconds": s,
                     "regions": {"predict": s}}}
The end:             {"end": {"seconds": s, "reason": ""}}: the whole run, and what ended it early

Every list of a stretch has one entry for each step. A value is a number, null where a step gave none, or one of the
texts "nan", "inf" and "-inf". Nested regions have paths such as "train/forward". "outside" are seconds before the
first step of the stretch, "recording" those that writing the stretch before this one took.
"""

from collections.abc import Sequence
from typing import Any

from ...contracts.shapes import NUMBER, check_object
from ...errors import Deep500Error

NOT_FINITE = ("nan", "inf", "-inf")
PLAN = {
    "name": str,
    "seed": (int, type(None)),
    "seeded": [str],
    "better": dict,
    "wait": bool,
    "settings": dict,
}
STEPS = {
    "first": int,
    "seconds": [NUMBER],
    "examples": [(int, type(None))],
    "values": dict,
    "regions": dict,
    "outside": NUMBER,
    "recording": NUMBER,
}
EVALUATION = {
    "step": int,
    "split": str,
    "qualities": dict,
    "seconds": NUMBER,
    "regions": dict,
}
END = {"seconds": NUMBER, "reason": str}
KINDS = {"steps", "evaluation", "end"}
DIRECTIONS = ("higher", "lower")


def check_plan(plan: object) -> dict[str, Any]:
    """The plan, if it has this form and every direction is known; else a Deep500Error."""
    checked = check_object("plan.json", plan, PLAN)
    for name, direction in checked["better"].items():
        if direction not in DIRECTIONS:
            short_name = name[:40]
            text = str(direction)[:40]
            raise Deep500Error(
                f"plan.json: better for {short_name!r} is {text!r}: "
                "say 'higher' or 'lower'"
            )
    return checked


def check_blocks(blocks: Sequence[object]) -> list[dict[str, Any]]:
    """The blocks, if each is of one of the three forms, and the steps are numbered without a gap."""
    steps = 0
    checked = []
    for number, candidate in enumerate(blocks):
        where = f"samples.jsonl: block {number}"
        block = _only_entry(where, candidate)
        [kind] = block
        if kind == "steps":
            steps += _check_steps(where, block, steps)
        elif kind == "evaluation":
            _check_evaluation(where, block, steps)
        else:
            check_object(where, block["end"], END)
        checked.append(block)
    return checked


def _only_entry(where: str, block: object) -> dict[str, Any]:
    """The block, if it has one of the three entries and no other."""
    if isinstance(block, dict) and len(block) == 1 and KINDS & block.keys():
        return block
    raise Deep500Error(
        f"{where} is neither steps nor an evaluation nor the end of a run"
    )


def _check_steps(where: str, block: Any, before: int) -> int:
    """Check a stretch that follows step `before`; returns how many steps it has."""
    steps = check_object(where, block["steps"], STEPS)
    seconds = steps["seconds"]
    count = len(seconds)
    if steps["first"] != before + 1 or not count:
        raise Deep500Error(f"{where} has no steps, or does not follow step {before}")
    if min(seconds) < 0:
        raise Deep500Error(f"{where} has a step of less than no time")
    lists = {
        "examples": steps["examples"],
        **steps["values"],
        **steps["regions"],
    }
    for name, numbers in lists.items():
        if not isinstance(numbers, list) or len(numbers) != count:
            raise Deep500Error(
                f"{where}: {name[:40]!r} has not one entry for each step"
            )
    for name, numbers in steps["regions"].items():
        check_object(where, {name: numbers}, {name: [NUMBER]})
    for name, numbers in steps["values"].items():
        _check_values(where, name, numbers)
    return count


def _check_evaluation(where: str, block: Any, steps: int) -> None:
    evaluation = check_object(where, block["evaluation"], EVALUATION)
    step = evaluation["step"]
    if step != steps:
        raise Deep500Error(f"{where} evaluates step {step}, and {steps} were done")
    for name, seconds in evaluation["regions"].items():
        check_object(where, {name: seconds}, {name: NUMBER})
    for name, value in evaluation["qualities"].items():
        _check_values(where, name, [value])


def _check_values(where: str, name: str, values: Sequence[object]) -> None:
    shape = {name: (*NUMBER, type(None))}
    for value in values:
        if value not in NOT_FINITE:
            check_object(where, {name: value}, shape)
