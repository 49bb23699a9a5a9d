"""What running beside others does to the times of a candidate: its visits among theirs against visits in a row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import TooFewSamples
from .bench_blocks import TimedBlock
from .statistics.comparison import log_interval
from .statistics.dependence import Array

ENOUGH = 20  # visits in a row, for a median of them


@dataclass(frozen=True)
class NeighbourEffect:
    """The time of a visit beside the other candidates over that in a row of its own, with its interval."""

    ratio: float
    low: float
    high: float
    n: int  # processes, or parts of one

    def exceeds(self, margin: float) -> bool:
        """Whether it is certainly larger than the margin."""
        return self.low > 1 + margin or self.high < 1 / (1 + margin)


def neighbour_effect(
    blocks: Sequence[TimedBlock], entry: int, level: float
) -> NeighbourEffect | None:
    """The effect on one entry; None where too few visits were made in a row."""
    blocks_of: dict[int, list[TimedBlock]] = {}
    for block in blocks:
        if block.alone is not None:
            blocks_of.setdefault(block.process, []).append(block)
    series = []
    for process_blocks in blocks_of.values():
        logs = _log_ratios(process_blocks, entry)
        if len(blocks_of) > 1 and logs:
            logs = [_log_ratio(process_blocks, entry)]
        if logs:
            series.append(np.array(logs))
    if not series:
        return None
    try:
        found = log_interval(series, 0.5, level)
    except TooFewSamples:
        return None
    return NeighbourEffect(
        ratio=math.exp(found.estimate),
        low=math.exp(found.low),
        high=math.exp(found.high),
        n=found.n,
    )


def _log_ratios(blocks: Sequence[TimedBlock], entry: int) -> list[float]:
    """The effect in consecutive blocks that together have enough visits in a row; the rest is left out."""
    logs = []
    group: list[TimedBlock] = []
    for block in blocks:
        group.append(block)
        if len(_in_a_row(group, entry)) >= ENOUGH:
            logs.append(_log_ratio(group, entry))
            group = []
    return logs


def _log_ratio(blocks: Sequence[TimedBlock], entry: int) -> float:
    orders = [np.concatenate(block.orders) for block in blocks]
    times = [np.concatenate(block.ns) for block in blocks]
    is_entry = np.concatenate(orders) == entry
    beside = np.median(np.concatenate(times)[is_entry])
    alone = np.median(_in_a_row(blocks, entry))
    return math.log(beside / alone)


def _in_a_row(blocks: Sequence[TimedBlock], entry: int) -> Array:
    """The second half of every row: what ran before it is then long ago."""
    rows = [np.array(block.alone[entry]) for block in blocks if block.alone]
    return np.concatenate([row[len(row) // 2 :] for row in rows])
