"""What is unusual in a recipe's run without contradicting it; a reader who knows it reads the numbers with care."""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from ...reports.tables import seconds
from ...training.recipe_blocks import Blocks, Epoch, blocks_by_seed, epochs_of
from ...training.recipe_plan import RecipePlan

# Of evaluating an example in CPU time, for each second of training with one: a forward pass is a third of a step.
DEFERRED = 2.0
LEAST_CPU_S = 0.05  # below, nothing is said of CPU times
# CPU time outside of steps and evaluations, for each second within the steps
OUTSIDE = 2.0
LEAST_OUTSIDE_S = 1.0
# Of the time that passed, by the clock of the run; less is noticed if it is also this many seconds less.
LEAST_COUNTED = 0.5
LEAST_MISSING_S = 0.5
JUDGED = "judged in a contest"


def recipe_remarks(plan: RecipePlan, blocks: Blocks) -> Iterator[str]:
    """Every remark on the bundle of a recipe's run."""
    trained = epochs_of_seeds(blocks)
    yield from judged(plan)
    yield from left_out_seeds(plan)
    yield from deferred_work(plan, trained)
    yield from outside_work(trained)
    yield from other_clock(trained)


def epochs_of_seeds(blocks: Blocks) -> list[list[Epoch]]:
    """The epochs of every seed that has some."""
    of_seeds = list(map(epochs_of, blocks_by_seed(blocks).values()))
    return [epochs for epochs in of_seeds if epochs]


def judged(plan: RecipePlan) -> Iterator[str]:
    """That an organiser has run it, by whose clock a step is a whole epoch."""
    if plan.judge is not None:
        yield (
            f"{JUDGED}, attempt {plan.judge.attempt} of the entry: a step is an epoch by the judge's clock, "
            "from handing out the data to weights received, and its loss is that of validation data; the seeds were "
            "drawn after submission"
        )


def left_out_seeds(plan: RecipePlan) -> Iterator[str]:
    """That the seeds are not the ones that a run takes by itself."""
    if plan.judge is not None:
        return
    seeds = plan.seeds
    if seeds != list(range(len(seeds))):
        listed = ", ".join(map(str, seeds))[:80]
        yield f"the seeds are {listed}: `d5 run` trains 0 to {len(seeds) - 1} unless it is told which"


def deferred_work(plan: RecipePlan, seeds: Iterable[Sequence[Epoch]]) -> Iterator[str]:
    """That evaluating an example took much more CPU time than training with one: steps left work to be done later.

    Of every seed, the cheapest evaluation counts: the first one may compile.
    """
    costs = cpu_costs(plan, seeds)
    if costs is None:
        return
    of_step, of_evaluation = costs
    if of_evaluation > DEFERRED * of_step:
        yield (
            f"evaluating an example took {seconds(of_evaluation)} of CPU time, and training with one "
            f"{seconds(of_step)}: steps may have left work to be done after their clock had stopped, or evaluation "
            "is dear here"
        )


def cpu_costs(
    plan: RecipePlan, seeds: Iterable[Sequence[Epoch]]
) -> tuple[float, float] | None:
    """CPU seconds of training with an example and of evaluating one; None if too little was recorded."""
    examples = (plan.examples or {}).get("validation", 0)
    training, evaluation, total = [], [], 0.0
    for epochs in seeds:
        costs = [_costs(before, after, examples) for before, after in _steps(epochs)]
        known = [cost for cost in costs if cost is not None]
        if len(known) < 2:
            continue
        training.append(median(cost[0] for cost in known))
        evaluation.append(min(cost[1] for cost in known))
        total += epochs[-1].counters["evaluation cpu seconds"]
    if not training or total < LEAST_CPU_S:
        return None
    return median(training), median(evaluation)


def outside_work(seeds: Iterable[Sequence[Epoch]]) -> Iterator[str]:
    """That events or other threads used much more CPU time than the steps did."""
    within, outside = 0.0, 0.0
    for epochs in seeds:
        counters = epochs[-1].counters
        if "run cpu seconds" not in counters:
            return
        of_events = counters.get("event cpu seconds", 0.0)
        of_steps = counters.get("training cpu seconds", 0.0) - of_events
        of_evaluation = counters.get("evaluation cpu seconds", 0.0)
        within += of_steps
        outside += counters["run cpu seconds"] - of_steps - of_evaluation
    if outside > max(LEAST_OUTSIDE_S, OUTSIDE * within):
        yield (
            f"{seconds(outside)} of CPU time were used outside of steps and evaluations, by events, checkpoints or "
            f"other threads, and {seconds(within)} within the steps: no time to accuracy counts them"
        )


def other_clock(seeds: Iterable[Sequence[Epoch]]) -> Iterator[str]:
    """That the clock which times the steps counted much less, or more, than the clock of the machine."""
    counted, passed = [], []
    for epochs in seeds:
        for before, after in pairwise(epochs):
            if after.resumed or "unix time" not in before.counters:
                continue
            counted.append(_gain(before, after, "run seconds"))
            passed.append(_gain(before, after, "unix time"))
    run_s, wall_s = math.fsum(counted), math.fsum(passed)
    if abs(wall_s - run_s) < LEAST_MISSING_S:
        return
    if run_s < LEAST_COUNTED * wall_s or wall_s < LEAST_COUNTED * run_s:
        yield (
            f"the clock of the steps counted {seconds(run_s)} while {seconds(wall_s)} passed by the clock of the "
            "machine: one of them was changed, or the machine slept"
        )


def _steps(epochs: Sequence[Epoch]) -> Iterator[tuple[Epoch | None, Epoch]]:
    """Every epoch of a seed with the one before."""
    previous: Epoch | None = None
    for block in epochs:
        yield previous, block
        previous = block


def _costs(
    before: Epoch | None, after: Epoch, examples: int
) -> tuple[float, float] | None:
    """CPU seconds of an epoch for each example: of training, and of evaluation; None if they were not recorded."""
    counters = after.counters
    if "training cpu seconds" not in counters or not examples:
        return None
    samples = _gain(before, after, "samples")
    if samples <= 0:
        return None
    of_events = _gain(before, after, "event cpu seconds")
    of_training = _gain(before, after, "training cpu seconds") - of_events
    training = of_training / samples
    evaluated = examples * (1 + len(after.within))
    evaluation = _gain(before, after, "evaluation cpu seconds") / evaluated
    return training, evaluation


def _gain(before: Epoch | None, after: Epoch, name: str) -> float:
    earlier = before.counters.get(name, 0.0) if before else 0.0
    return float(after.counters.get(name, 0.0) - earlier)
