"""How far the replicas are from each other."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from ..contracts.metric import History
from ..contracts.scheme import Scheme
from ..contracts.transport import Program, all_reduce
from ..errors import Deep500Error, Deep500Warning
from .replica import Replica

# of the length of the parameters: replicas that differ by more do not do the same step, whatever the rounding
APART = 1e-3


def consensus_distance(worker: Replica, trainers: Sequence[int]) -> Program:
    """The root mean square, over the ranks that train, of a replica's distance from the mean of their replicas.

    Returns it with the length of this mean; both are the same on all ranks.
    """
    trains = worker.rank in trainers
    squares = np.zeros(1)
    length = 0.0
    for buffer in worker.params().values():
        mean = buffer.astype(np.float64) * trains
        yield from all_reduce(mean)
        mean /= len(trainers)
        length += float(np.sum(mean**2))
        squares += np.sum((buffer - mean) ** 2) * trains
    yield from all_reduce(squares)
    return math.sqrt(squares[0] / len(trainers)), math.sqrt(length)


def check_equal_replicas(scheme: Scheme, distance: float, length: float) -> None:
    """Refuse a scheme that is declared synchronous if its replicas differ by more than rounding explains."""
    if scheme.synchronous and distance > APART * length:
        raise Deep500Error(
            f"{scheme} is declared synchronous, but after an epoch its replicas are {distance:.4g} apart (their "
            f"parameters have the length {length:.4g}): average what the ranks compute, as `d5 check scheme` "
            "explains, or do not declare `synchronous`"
        )


def warn_of_apart_replicas(scheme: Scheme, history: History) -> None:
    """Say so if the replicas of a scheme that is declared synchronous differed a little after an epoch."""
    farthest = max(history.series.get("consensus distance", ()), default=0.0)
    if not scheme.synchronous or farthest == 0:
        return
    warnings.warn(
        f"{scheme} is declared synchronous, but replicas differ, by {farthest:.4g} on seed {history.seed}: "
        "`d5 check scheme` looks for the reason",
        Deep500Warning,
        stacklevel=2,
    )
