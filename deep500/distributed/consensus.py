"""How far the replicas are from each other."""

import math

import numpy as np

from ..contracts.transport import Program, all_reduce
from .replica import Replica


def consensus_distance(worker: Replica) -> Program:
    """The root mean square, over all ranks, of a replica's distance from the mean of all replicas."""
    squares = np.zeros(1)
    for buffer in worker.params().values():
        mean = buffer.astype(np.float64)
        yield from all_reduce(mean)
        mean /= worker.size
        squares += np.sum((buffer - mean) ** 2)
    yield from all_reduce(squares)
    return math.sqrt(squares[0] / worker.size)
