"""Under which conditions a recipe's run was timed: the load from others, and how long its work waited for a CPU."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from ...errors import Deep500Error
from ...measure.load import Load
from ...measure.machine import Environment
from ...training.recipe_blocks import Blocks, epochs_of
from ...training.recipe_plan import RecipePlan


@dataclass(frozen=True)
class Conditions:
    """The median share of the CPUs that others used, time per CPU time of training, and the threads; None: unknown."""

    others: float | None
    stretch: float | None
    threads: int | str | None


def conditions(plan: RecipePlan, blocks: Blocks) -> Conditions:
    """The conditions of a run."""
    return Conditions(others(blocks), _stretch(blocks), plan.threads)


def others(blocks: Blocks) -> float | None:
    """The median over the epochs of the share of the CPUs that others used; None if it was not recorded."""
    shares = [load.others for load in loads(blocks)]
    return median(shares) if shares else None


def loads(blocks: Blocks) -> list[Load]:
    """The recorded loads, one for each epoch that was long enough to measure it."""
    return [epoch.load for epoch in epochs_of(blocks) if epoch.load]


def usable_cpus(environment: Mapping[str, object]) -> int | None:
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
    for epoch in epochs_of(blocks):
        seconds += epoch.step_seconds
        spent = epoch.counters.get("training cpu seconds")
        if spent is not None:
            cpu[epoch.seed] = spent
    total = math.fsum(cpu.values())
    return math.fsum(seconds) / total if total > 0 else None
