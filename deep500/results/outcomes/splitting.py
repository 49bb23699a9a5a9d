"""Why B is faster to a target than A: fewer steps (statistical) times less time per step (hardware performance).

For every seed, time to target = steps to target × mean time of those steps. The ratios B / A are averaged as logarithms
(a geometric mean), so that the two factors multiply to the ratio of the times exactly.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import variance
from typing import Any

import numpy as np

from ...contracts.metric import History, Metric
from ...contracts.result import Record
from ...measure.statistics.distributions import student_t_quantile
from ...measure.statistics.intervals import mean_interval
from ...reports.blocks import Block, Bullets, Section, Table
from ...reports.tables import Number, count, ratio
from ...reports.text import Text
from ...training.metric_summary import recorded_metric
from ...training.outcome import trained_runs
from .contents import metric_name

WAYS = ("TimeToAccuracy", "TimeToQuality")  # metrics that stop a clock at a target
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
class Split:
    """The ratio of the times to one target as a product; `time` and `steps` are None if a seed never arrived."""

    metric: str
    time: Factor | None
    steps: Factor | None
    step_time: Factor
    censored: int
    paired: bool
    level: float


@dataclass(frozen=True)
class Arrival:
    """Where one seed reached the target, or, if it never did, where it ended."""

    steps: int
    seconds: float
    arrived: bool


def time_splits(a: Record, b: Record, level: float) -> list[Split]:
    """The split of every time to a target that both runs have."""
    runs_a, runs_b = trained_runs(a.blocks), trained_runs(b.blocks)
    if not runs_a or not runs_b:
        return []
    of_b = [written for written, _ in b.plan["recipe"]["metrics"]]
    splits = []
    for written, _ in a.plan["recipe"]["metrics"]:
        if written["definition"] in WAYS and written in of_b:
            metric = recorded_metric(written, a.plan)
            splits.append(_split(written, metric, runs_a, runs_b, level))
    return splits


def split_data(splits: Sequence[Split]) -> list[dict[str, Any]]:
    """For `--json`."""
    return [asdict(split) for split in splits]


def split_blocks(splits: Sequence[Split]) -> list[Block]:
    """One table for each target."""
    return [
        Section(f"Why: {split.metric}", [_table(split), _notes(split)])
        for split in splits
    ]


def _split(
    written: Mapping[str, Any],
    metric: Metric,
    runs_a: Sequence[History],
    runs_b: Sequence[History],
    level: float,
) -> Split:
    ways_a = {run.seed: _arrival(metric, run) for run in runs_a}
    ways_b = {run.seed: _arrival(metric, run) for run in runs_b}
    paired = list(ways_a) == list(ways_b)
    all_ways = [*ways_a.values(), *ways_b.values()]
    censored = sum(not way.arrived for way in all_ways)

    def factor(logarithm: Callable[[Arrival], float]) -> Factor:
        of_a = [logarithm(way) for way in ways_a.values()]
        of_b = [logarithm(way) for way in ways_b.values()]
        return _factor(of_a, of_b, paired, level)

    step_time = factor(lambda way: math.log(way.seconds / way.steps))
    time = steps = None
    if not censored:
        time = factor(lambda way: math.log(way.seconds))
        steps = factor(lambda way: math.log(way.steps))
    name = metric_name({"name": written["definition"], "settings": metric.settings})
    return Split(name, time, steps, step_time, censored, paired, level)


def _arrival(metric: Metric, run: History) -> Arrival:
    seconds = metric.value(run)
    for evaluation in run.evaluations:
        if evaluation["seconds"] == seconds:
            return Arrival(evaluation["step"], evaluation["seconds"], True)
    last = run.evaluations[-1]
    return Arrival(last["step"], last["seconds"], False)


def _factor(
    a: Sequence[float], b: Sequence[float], paired: bool, level: float
) -> Factor:
    """The ratio B / A of the geometric means, from logarithms."""
    middle = math.fsum(b) / len(b) - math.fsum(a) / len(a)
    n = min(len(a), len(b))
    if n < FEWEST:
        return Factor(
            math.exp(middle), None, None, n, f"none: fewer than {FEWEST} seeds"
        )
    if paired:
        known = mean_interval(np.subtract(b, a), level)
        ends = math.exp(known.low), math.exp(known.high)
        return Factor(math.exp(middle), *ends, n, known.method)
    reach = _welch(a, b, level)
    ends = math.exp(middle - reach), math.exp(middle + reach)
    return Factor(math.exp(middle), *ends, n, "Welch's t of logarithms")


def _welch(a: Sequence[float], b: Sequence[float], level: float) -> float:
    """Half the width of the interval of a difference of two means."""
    error_a, error_b = _squared_error(a), _squared_error(b)
    total = error_a + error_b
    if total == 0:
        return 0.0
    spread = error_a**2 / (len(a) - 1) + error_b**2 / (len(b) - 1)
    freedom = total**2 / spread
    return student_t_quantile((1 + level) / 2, freedom) * math.sqrt(total)


def _squared_error(values: Sequence[float]) -> float:
    """The squared standard error of a mean."""
    return variance(values) / len(values)


def _table(split: Split) -> Table:
    rows: list[list[Text]] = [
        ["time to target", _shown(split.time), "the answer"],
        ["= steps to target", _shown(split.steps), "statistical performance"],
        ["× time per step", _shown(split.step_time), "hardware performance"],
    ]
    return Table(["B / A", "geometric mean over seeds", "what it is"], rows)


def _shown(factor: Factor | None) -> Number:
    if factor is None:
        return Number("not known")
    if factor.low is None:
        return Number(f"{factor.ratio:.4g} ×", "[no interval]", count(factor.n))
    return ratio(factor.ratio, factor.low, factor.high, factor.n)


def _notes(split: Split) -> Bullets:
    pairing = "paired seed by seed" if split.paired else "seeds are not paired"
    notes = [f"Below 1, B is ahead; {pairing}; intervals by {split.step_time.method}."]
    if split.censored:
        notes.append(
            f"{split.censored} runs never reached the target: leaving them out would flatter whoever lost them, "
            "so only the time per step is compared."
        )
    return Bullets(notes)
