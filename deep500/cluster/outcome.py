"""What a simulation gave: when every rank was done, what its time went to, and what blocked it."""

from dataclasses import dataclass

import numpy as np

from ..errors import Deep500Error

# Columns of `spent`
WORK, OVERHEAD, BYTES, NOISE = range(4)
# Kinds of intervals are those of operations; why one did not begin earlier:
NOTHING, PROCESSOR, GAP, WIRE = range(4)
# Why a rank has not finished
FINISHED, UNMATCHED, NOT_RECEIVED, LEFT_OVER, CIRCLE, DIED = range(6)
NO_CAUSE = 0xFFFFFFFF

# As struct Interval in _task.h
INTERVAL = np.dtype(
    [
        ("begin", "<i8"),
        ("end", "<i8"),
        ("node", "<u4"),
        ("rank", "<u4"),
        ("cause", "<u4"),
        ("kind", "u1"),
        ("why", "u1"),
        ("cpu", "u1"),
        ("unused", "u1"),
    ]
)


@dataclass(frozen=True, eq=False)
class BlockedRanks:
    """The ranks that have not finished: why, and the operation that they are at."""

    reason: np.ndarray
    node: np.ndarray


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """One simulation.

    nanoseconds  When each rank was done.
    spent        Of each rank, the nanoseconds of work, overhead, bytes and noise; the rest it waited.
    events       Operations begun and messages received.
    intervals    When processors were busy, if that was recorded: INTERVAL.
    blocked      None if all ranks have finished.
    """

    nanoseconds: np.ndarray
    spent: np.ndarray
    events: int
    intervals: np.ndarray | None = None
    blocked: BlockedRanks | None = None

    @property
    def makespan(self) -> int:
        """When the last rank was done; a Deep500Error if ranks block."""
        if self.blocked is not None:
            [ranks] = np.nonzero(self.blocked.reason != FINISHED)
            raise Deep500Error(
                f"there is no makespan: {len(ranks)} of {len(self.nanoseconds)} ranks are not done, the first is rank "
                f"{ranks[0]}; `d5 simulate` of the schedule says who waits for whom"
            )
        return int(self.nanoseconds.max())
