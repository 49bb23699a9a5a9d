"""How far the replicas are from each other."""

import math
import warnings
from collections.abc import Sequence

import numpy as np

from ..contracts.metric import History
from ..contracts.scheme import Scheme
from ..contracts.transport import Program, all_reduce
from ..errors import Deep500Warning
from .replica import Replica


def consensus_distance(worker: Replica, trainers: Sequence[int]) -> Program:
    """The root mean square, over the ranks that train, of a replica's distance from the mean of their replicas."""
    trains = worker.rank in trainers
    squares = np.zeros(1)
    for buffer in worker.params().values():
        mean = buffer.astype(np.float64) * trains
        yield from all_reduce(mean)
        mean /= len(trainers)
        squares += np.sum((buffer - mean) ** 2) * trains
    yield from all_reduce(squares)
    return math.sqrt(squares[0] / len(trainers))


def warn_of_apart_replicas(scheme: Scheme, history: History) -> None:
    """Say so if the replicas of a scheme that is declared synchronous differed after an epoch."""
    farthest = max(history.series.get("consensus distance", ()), default=0.0)
    if not scheme.synchronous or farthest == 0:
        return
    warnings.warn(
        f"{scheme} is declared synchronous, but replicas differ, by {farthest:.4g} on seed {history.seed}: "
        "`d5 check scheme` looks for the reason",
        Deep500Warning,
        stacklevel=2,
    )
