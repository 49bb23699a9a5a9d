"""Under which conditions a recipe's run was timed: the load from others, and how long its work waited for a CPU."""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ...contracts.result import Blocks, Plan
from ...errors import Deep500Error
from ...measure.machine import Environment


def conditions(plan: Plan, blocks: Blocks) -> dict[str, Any]:
    """The median share of the CPUs that others used, time per CPU time of training, and the threads; None: unknown."""
    return {
        "others": others(blocks),
        "stretch": _stretch(blocks),
        "threads": plan.get("threads"),
    }


def others(blocks: Blocks) -> float | None:
    """The median over the epochs of the share of the CPUs that others used; None if it was not recorded."""
    shares = [share["others"] for share in loads(blocks)]
    return median(shares) if shares else None


def loads(blocks: Blocks) -> list[Mapping[str, Any]]:
    """The recorded loads, one for each epoch that was long enough to measure it."""
    return [block["load"] for block in blocks if "load" in block]


def usable_cpus(environment: Mapping[str, Any]) -> int | None:
    """How many CPUs the run might use; None if that was not recorded."""
    try:
        known = Environment.from_json(environment)
    except Deep500Error:
        return None
    value = known.fact("benchmark measurement setup", "usable cpus").value
    return value if isinstance(value, int) and value > 0 else None


def _stretch(blocks: Blocks) -> float | None:
    """The seconds of all steps for each second of CPU time; None if that was not recorded."""
    seconds: list[float] = []
    cpu: dict[int, float] = {}
    for block in blocks:
        if "series" in block and "evaluation" in block:
            seconds += block["series"]["seconds"]
            spent = block["counters"].get("training cpu seconds")
            if spent is not None:
                cpu[block["seed"]] = spent
    total = math.fsum(cpu.values())
    return math.fsum(_numbers(seconds)) / total if total > 0 else None


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
