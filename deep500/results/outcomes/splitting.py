"""Why B is faster to a target than A: fewer steps (statistical) times less time per step (hardware performance).

For every seed, time to target = steps to target × mean time of those steps. The ratios B / A are averaged as logarithms
(a geometric mean), so that the two factors multiply to the ratio of the times exactly.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import variance

import numpy as np

from ...contracts.metric import History, Metric
from ...measure.statistics.distributions import student_t_quantile
from ...measure.statistics.intervals import mean_interval
from ...reports.blocks import Block, Bullets, Section, Table
from ...reports.tables import Number, count
from ...reports.tables import ratio as ratio_text
from ...reports.text import counted
from ...training.metric_summary import recorded_metric
from ...training.outcome import trained_runs
from .data import RecipeRecord
from .metric_text import words_for_metric

TIME_TO_TARGET = ("TimeToAccuracy", "TimeToQuality")
FEWEST = 3  # seeds for an interval


@dataclass(frozen=True)
class Factor:
    """One ratio B / A with its interval; the ends are None where there are too few seeds."""

    ratio: float
    low: float | None
    high: float | None
    n: int
    method: str


@dataclass(frozen=True)
class TimeSplit:
    """The ratio of the times to one target as a product; `time` and `steps` are None if a seed never arrived."""

    metric: str
    time: Factor | None
    steps: Factor | None
    step_time: Factor
    censored: int  # of all seeds, those that never reached the target
    lost: tuple[int, int]  # of those of A and of B
    paired: bool
    level: float


@dataclass(frozen=True)
class TargetArrival:
    """Where one seed reached the target, or, if it never did, where it ended."""

    steps: int
    seconds: float
    arrived: bool


def time_splits(a: RecipeRecord, b: RecipeRecord, level: float) -> list[TimeSplit]:
    """The split of every time to a target that both runs have."""
    runs_a = [run for run in trained_runs(a.blocks) if run.evaluations]
    runs_b = [run for run in trained_runs(b.blocks) if run.evaluations]
    if not runs_a or not runs_b:
        return []
    forms_b = [form for form, _ in b.plan.recipe.metrics]
    splits = []
    for form, _ in a.plan.recipe.metrics:
        if form.definition in TIME_TO_TARGET and form in forms_b:
            metric = recorded_metric(form, a.plan)
            if not (_has_times(metric, a) and _has_times(metric, b)):
                continue
            name = words_for_metric(form.definition, metric.settings)
            arrivals_a = _arrivals(metric, runs_a)
            arrivals_b = _arrivals(metric, runs_b)
            if _took_time(arrivals_a) and _took_time(arrivals_b):
                splits.append(_split(name, arrivals_a, arrivals_b, level))
    return splits


def split_blocks(splits: Sequence[TimeSplit]) -> list[Block]:
    """One section with a table for each target."""
    sections: list[Block] = []
    for split in splits:
        blocks: list[Block] = [_table(split), _notes(split)]
        sections.append(Section(f"Why: {split.metric}", blocks))
    return sections


def _split(
    name: str,
    by_seed_a: Mapping[int, TargetArrival],
    by_seed_b: Mapping[int, TargetArrival],
    level: float,
) -> TimeSplit:
    paired = list(by_seed_a) == list(by_seed_b)
    arrivals_a = list(by_seed_a.values())
    arrivals_b = list(by_seed_b.values())
    lost = _lost(arrivals_a), _lost(arrivals_b)

    def factor(logarithm: Callable[[TargetArrival], float]) -> Factor:
        logs_a = list(map(logarithm, arrivals_a))
        logs_b = list(map(logarithm, arrivals_b))
        return _factor(logs_a, logs_b, paired, level)

    step_time = factor(lambda arrival: math.log(arrival.seconds / arrival.steps))
    time = steps = None
    if not any(lost):
        time = factor(lambda arrival: math.log(arrival.seconds))
        steps = factor(lambda arrival: math.log(arrival.steps))
    return TimeSplit(name, time, steps, step_time, sum(lost), lost, paired, level)


def _lost(arrivals: Sequence[TargetArrival]) -> int:
    return sum(not arrival.arrived for arrival in arrivals)


def _arrivals(metric: Metric, runs: Sequence[History]) -> dict[int, TargetArrival]:
    """Where every seed reached the target."""
    return {run.seed: _arrival(metric, run) for run in runs}


def _has_times(metric: Metric, record: RecipeRecord) -> bool:
    """Whether the run could measure what the metric needs."""
    return not any(need in record.plan.unavailable for need in metric.needs)


def _took_time(arrivals: Mapping[int, TargetArrival]) -> bool:
    """Whether every seed has a time; virtual ranks compute in none."""
    return all(arrival.seconds > 0 for arrival in arrivals.values())


def _arrival(metric: Metric, run: History) -> TargetArrival:
    """The first evaluation at the time that the metric gives; the last one if the run never reached the target."""
    seconds = None if run.crashed else metric.value(run)
    for evaluation in run.looks:
        if evaluation["seconds"] == seconds:
            return TargetArrival(evaluation["step"], evaluation["seconds"], True)
    last = run.evaluations[-1]
    return TargetArrival(last["step"], last["seconds"], False)


def _factor(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Factor:
    """The ratio B / A of the geometric means, from logarithms."""
    mean_a = math.fsum(a) / len(a)
    mean_b = math.fsum(b) / len(b)
    middle = mean_b - mean_a
    ratio = math.exp(middle)
    n = min(len(a), len(b))
    if n < FEWEST:
        return Factor(ratio, None, None, n, f"none: fewer than {FEWEST} seeds")
    if paired:
        of_pairs = mean_interval(np.subtract(b, a), level)
        low = math.exp(of_pairs.low)
        high = math.exp(of_pairs.high)
        return Factor(ratio, low, high, n, of_pairs.method)
    reach = _welch(a, b, level)
    low = math.exp(middle - reach)
    high = math.exp(middle + reach)
    return Factor(ratio, low, high, n, "Welch's t of logarithms")


def _welch(a: Sequence[float], b: Sequence[float], level: float) -> float:
    """Half the width of the interval of a difference of two means."""
    error_a = _squared_error(a)
    error_b = _squared_error(b)
    total = error_a + error_b
    if total == 0:
        return 0.0
    part_a = error_a**2 / (len(a) - 1)
    part_b = error_b**2 / (len(b) - 1)
    degrees_of_freedom = total**2 / (part_a + part_b)
    quantile = student_t_quantile((1 + level) / 2, degrees_of_freedom)
    return quantile * math.sqrt(total)


def _squared_error(values: Sequence[float]) -> float:
    """The squared standard error of a mean."""
    return variance(values) / len(values)


def _table(split: TimeSplit) -> Table:
    rows = [
        ["time to target", _number(split.time), "the answer"],
        ["= steps to target", _number(split.steps), "statistical performance"],
        ["× time per step", _number(split.step_time), "hardware performance"],
    ]
    return Table(["B / A", "geometric mean over seeds", "what it is"], rows)


def _number(factor: Factor | None) -> Number:
    if factor is None:
        return Number("not known")
    if factor.low is None:
        return Number(f"{factor.ratio:.4g} ×", "[no interval]", count(factor.n))
    return ratio_text(factor.ratio, factor.low, factor.high, factor.n)


def _notes(split: TimeSplit) -> Bullets:
    pairing = "paired seed by seed" if split.paired else "seeds are not paired"
    notes = [f"Below 1, B is ahead; {pairing}."]
    lost_a, lost_b = split.lost
    if lost_a or lost_b:
        notes.append(
            f"Of A {counted(lost_a, 'seed')}, of B {counted(lost_b, 'seed')} never reached the target: leaving them "
            "out would flatter whoever lost them, so only the time per step is compared."
        )
    return Bullets(notes)
