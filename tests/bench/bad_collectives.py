"""Collectives with planted defects."""

import os
import signal

import numpy as np

from deep500.collectives.ring import Ring
from deep500.contracts.transport import Program, ReduceOp

# after which a rank dies: three come before the measurement, and three at least in it
CALLS = 4


class Forgetful(Ring):
    """Loses the last element."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from super().all_reduce(rank, size, array, op)
        array[-1:] = 0


class Dying(Ring):
    """Rank 1 dies in the middle of the measurement."""

    calls = 0

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        Dying.calls += 1
        if rank == 1 and Dying.calls > CALLS:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().all_reduce(rank, size, array, op)
