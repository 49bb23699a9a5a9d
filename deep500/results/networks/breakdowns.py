"""From times of single operators to medians with intervals, and to what the framework adds to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import Refused
from ...measure.numbers import BenchNumbers
from ...measure.statistics.intervals import interval

Block = Mapping[str, Any]
ROW_KEYS = ("node", "operator", "kernel", "direction")


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
    blocks: Sequence[Block], level: float
) -> list[NetworkBreakdown | NoNetworkBreakdown]:
    """One breakdown for each entry whose operators were timed one by one."""
    by_entry: dict[str, list[Block]] = {}
    for block in blocks:
        by_entry.setdefault(block["breakdown"], []).append(block)
    results = []
    for name, of_entry in by_entry.items():
        results.append(_breakdown(name, of_entry, level))
    return results


def _breakdown(
    name: str, blocks: Sequence[Block], level: float
) -> NetworkBreakdown | NoNetworkBreakdown:
    timed = [block for block in blocks if "unsupported" not in block]
    if not timed:
        return NoNetworkBreakdown(name, blocks[0]["unsupported"])
    network = []
    sums = []
    overhead = []
    for block in timed:
        whole = _seconds(block["network"])
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


def _operator_rows(blocks: Sequence[Block], level: float) -> list[OperatorMedian]:
    """The median of every operator over all processes, the slowest first."""
    rows = []
    for i, operator in enumerate(blocks[0]["operators"]):
        times = [_seconds(block["operators"][i]["ns"]) for block in blocks]
        about = {key: operator[key] for key in ROW_KEYS}
        row = OperatorMedian(**about, **vars(_median(times, level)))
        rows.append(row)
    rows.sort(key=lambda row: row.median, reverse=True)
    return rows


def _sum(block: Block) -> np.ndarray:
    """The time of all operators together, round by round."""
    times = [_seconds(row["ns"]) for row in block["operators"]]
    if not times:
        return np.zeros(len(block["network"]))
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
