"""A non-blocking allreduce while the rank computes: does it go on by itself, or only while somebody asks about it?"""

import time
from typing import Any

import numpy as np

from ...contracts.transport import AllReduce, Poll, Program, Transport, Wait
from ...results.collectives.data import COMPUTING, POLLED, TimedCase
from .subjects import CaseBuffers, OnRank

CHUNK = 16_384  # elements that fit into the first cache
CALIBRATION = 20


class OverlappedCall(OnRank):
    """The engine's own non-blocking allreduce, and as much computing as the call alone takes.

    With progress "computing", nothing is communicated; "polled" asks between chunks of computing whether it is done.
    """

    def __init__(self, case: TimedCase, transport: Transport, buffers: CaseBuffers):
        super().__init__(case, transport, buffers)
        self.scratch = np.ones(CHUNK, np.float32)
        self.chunks = 1

    def size_for(self, seconds: float) -> None:
        """Compute for about so long."""
        begin = time.perf_counter()
        for _ in range(CALIBRATION):
            self._compute()
        chunk = (time.perf_counter() - begin) / CALIBRATION
        self.chunks = max(1, round(seconds / chunk))

    def run(self) -> Any:
        if self.case.progress == COMPUTING:
            for _ in range(self.chunks):
                self._compute()
            return None
        return self.carried_out(self._program())

    def check(self) -> str:
        return "" if self.case.progress == COMPUTING else super().check()

    def _program(self) -> Program:
        handle = yield AllReduce(self.array)
        for _ in range(self.chunks):
            self._compute()
            if self.case.progress == POLLED:
                yield Poll([handle])
        yield Wait([handle])
        return self.array

    def _compute(self) -> None:
        np.multiply(self.scratch, np.float32(1.0), out=self.scratch)
