"""From times of single operators to medians with intervals, and to what the framework adds to them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import Refused
from ...measure.numbers import BenchNumbers
from ...measure.statistics.intervals import interval
from ...schema import Positive, optional

Nanoseconds = Sequence[Positive]


@dataclass(frozen=True)
class NodeTimes:
    """An operator of the network, timed alone once in every round."""

    node: str
    operator: str
    kernel: str
    direction: str
    ns: Nanoseconds


@dataclass(frozen=True)
class BreakdownBlock:
    """The times of one process: the whole network and each operator, round by round; or why there are none."""

    breakdown: str  # the entry
    process: int = optional(0)
    network: Nanoseconds = optional(())
    operators: Sequence[NodeTimes] = optional(())
    unsupported: str = optional("")

    def __post_init__(self) -> None:
        if self.unsupported:
            return
        rounds = len(self.network)
        if not rounds or any(len(row.ns) != rounds for row in self.operators):
            raise ValueError("a time of the network and each operator for every round")


@dataclass(frozen=True)
class BreakdownTime:
    """The median of the times of all processes, with an interval if there are enough of them."""

    median: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class OperatorMedian:
    """The time of an operator of the network, alone."""

    node: str
    operator: str
    kernel: str
    direction: str
    median: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class NetworkBreakdown:
    """An entry, its operators one by one, and what the framework adds to them."""

    of: str
    processes: int
    level: float
    network: BreakdownTime
    operators_sum: BreakdownTime
    overhead: BreakdownTime
    operators: Sequence[OperatorMedian]


@dataclass(frozen=True)
class NoNetworkBreakdown:
    """An entry that could not be taken apart, and why."""

    of: str
    unsupported: str


@dataclass(frozen=True, kw_only=True)
class NetworkNumbers(BenchNumbers):
    """Times of networks, and of their operators."""

    breakdowns: Sequence[NetworkBreakdown | NoNetworkBreakdown]


def breakdowns(
    blocks: Sequence[BreakdownBlock], level: float
) -> list[NetworkBreakdown | NoNetworkBreakdown]:
    """One breakdown for each entry whose operators were timed one by one."""
    by_entry: dict[str, list[BreakdownBlock]] = {}
    for block in blocks:
        by_entry.setdefault(block.breakdown, []).append(block)
    results = []
    for name, of_entry in by_entry.items():
        results.append(_breakdown(name, of_entry, level))
    return results


def _breakdown(
    name: str, blocks: Sequence[BreakdownBlock], level: float
) -> NetworkBreakdown | NoNetworkBreakdown:
    timed = [block for block in blocks if not block.unsupported]
    if not timed:
        return NoNetworkBreakdown(name, blocks[0].unsupported)
    network = []
    sums = []
    overhead = []
    for block in timed:
        whole = _seconds(block.network)
        operators = _sum(block)
        network.append(whole)
        sums.append(operators)
        overhead.append(whole - operators)  # round by round
    return NetworkBreakdown(
        of=name,
        processes=len(timed),
        level=level,
        network=_median(network, level),
        operators_sum=_median(sums, level),
        overhead=_median(overhead, level),
        operators=_operator_rows(timed, level),
    )


def _operator_rows(
    blocks: Sequence[BreakdownBlock], level: float
) -> list[OperatorMedian]:
    """The median of every operator over all processes, the slowest first."""
    rows = []
    for i, operator in enumerate(blocks[0].operators):
        times = [_seconds(block.operators[i].ns) for block in blocks]
        median = _median(times, level)
        row = OperatorMedian(
            operator.node,
            operator.operator,
            operator.kernel,
            operator.direction,
            median.median,
            median.low,
            median.high,
            median.n,
        )
        rows.append(row)
    rows.sort(key=lambda row: row.median, reverse=True)
    return rows


def _sum(block: BreakdownBlock) -> np.ndarray:
    """The time of all operators together, round by round."""
    times = [_seconds(row.ns) for row in block.operators]
    if not times:
        return np.zeros(len(block.network))
    return np.sum(times, axis=0)


def _seconds(ns: Sequence[int]) -> np.ndarray:
    return np.asarray(ns, float) * 1e-9


def _median(series: Sequence[np.ndarray], level: float) -> BreakdownTime:
    """The median of the times of all processes, with an interval if there are enough of them."""
    n = sum(map(len, series))
    samples = list(series) if len(series) > 1 else series[0]
    try:
        middle = interval(samples, 0.5, level)
    except Refused:
        median = float(np.median(np.concatenate(series)))
        return BreakdownTime(median, None, None, n)
    return BreakdownTime(middle.estimate, middle.low, middle.high, n)
