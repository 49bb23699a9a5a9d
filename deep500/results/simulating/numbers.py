"""What follows from the blocks of a simulation: the time with its interval over seeds, and where it went."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...measure.statistics.intervals import rank_interval
from .data import CriticalPath, SeedBlock, SimulationPlan, TrainingResult

NANO = 1e9
LEVEL = 0.95
LEAST_SEEDS = 6  # of an interval of the median


@dataclass(frozen=True)
class SimulatedTime:
    """The median over seeds of when the last rank is done, in seconds, with its interval; exact: no seed changes it."""

    value: float
    low: float | None
    high: float | None
    n: int
    exact: bool


@dataclass(frozen=True)
class SimulationNumbers:
    """The time, the share of all ranks' time by activity in the first simulation, and what its first block has."""

    seconds: SimulatedTime
    shares: Mapping[str, float]
    events: int
    nanoseconds: Sequence[int]
    path: CriticalPath | None
    training: TrainingResult | None


def simulation_numbers(
    plan: SimulationPlan, blocks: Sequence[SeedBlock]
) -> SimulationNumbers | None:
    if not blocks:
        return None
    first = blocks[0]
    return SimulationNumbers(
        _time([block.makespan for block in blocks], not plan.is_random),
        _shares(plan.ranks, first),
        first.events,
        first.nanoseconds or [],
        first.path,
        first.training,
    )


def _time(makespans: Sequence[int], exact: bool) -> SimulatedTime:
    ordered = sorted(makespan / NANO for makespan in makespans)
    n = len(ordered)
    median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if exact:
        return SimulatedTime(median, median, median, n, True)
    if n < LEAST_SEEDS:
        return SimulatedTime(median, None, None, n, False)
    low, high = rank_interval(ordered, LEVEL)
    return SimulatedTime(median, low, high, n, False)


def _shares(ranks: int, block: SeedBlock) -> dict[str, float]:
    """Of the time of all ranks until the last one is done; what is left they waited."""
    spent = {
        "work": block.work,
        "overhead": block.overhead,
        "bytes": block.bytes,
        "noise": block.noise,
    }
    total = ranks * block.makespan
    if not total:
        return dict.fromkeys([*spent, "waiting"], 0.0)
    shares = {name: value / total for name, value in spent.items()}
    return {**shares, "waiting": max(0.0, 1 - sum(shares.values()))}
