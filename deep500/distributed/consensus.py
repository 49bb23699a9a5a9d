"""How far the replicas are from each other."""

import math
from collections.abc import Sequence

import numpy as np

from ..contracts.transport import Program, all_reduce
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
