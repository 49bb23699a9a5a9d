"""A case on the rank of this process: what is put back before a call, what is timed, and what follows untimed."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...contracts.collective import Collective
from ...contracts.transport import Program, Transport
from ...definition_text import definition_of
from ...errors import Deep500Error, Unsupported
from ...results.collectives.data import (
    ALONE,
    LIBRARIES,
    LIBRARY_APART,
    LIBRARY_CALLS,
    MESSAGE,
    TimedCase,
)
from ..ranks import carried_out
from .arrays import is_right, operation_program, right_result, source


class CaseBuffers:
    """The arrays of all cases; those of one length and dtype share theirs."""

    def __init__(self, rank: int):
        self.rank = rank
        self.pairs: dict[tuple[int, str], tuple[np.ndarray, np.ndarray]] = {}

    def pair(self, count: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
        """What this rank gives, and the array on which operations work."""
        key = count, dtype
        if key not in self.pairs:
            given = source(self.rank, count, dtype)
            self.pairs[key] = given, given.copy()
        return self.pairs[key]


class OnRank(ABC):
    """A case; `run` is timed."""

    def __init__(self, case: TimedCase, transport: Transport, buffers: CaseBuffers):
        self.case = case
        self.transport = transport
        [self.rank] = transport.ranks
        self.size = transport.size
        self.count = element_count(case)
        self.source, self.array = buffers.pair(self.count, case.dtype)

    def reset(self) -> None:
        """Put back what a call has changed."""
        np.copyto(self.array, self.source)

    @abstractmethod
    def run(self) -> Any: ...

    def after(self, calls: int) -> None:  # noqa: B027 (most have nothing left to do)
        """What belongs to so many calls and is not timed."""

    def check(self) -> str:
        """What is wrong with the result of a call; empty if it is right."""
        self.reset()
        result = self.run()
        self.after(calls=1)
        operation = self.case.operation
        right = right_result(
            operation, self.rank, self.size, self.count, self.case.dtype
        )
        if is_right(result, right):
            return ""
        return f"{self.case.algorithm}: rank {self.rank} has a wrong {operation} of {self.count} elements"

    def carried_out(self, program: Program) -> Any:
        return carried_out(self.transport, program)


class Algorithm(OnRank):
    """An operation of a collective."""

    def __init__(self, case: TimedCase, transport: Transport, buffers: CaseBuffers):
        super().__init__(case, transport, buffers)
        self.collective: Collective = definition_of(case.algorithm, "collectives")
        self.collective.check(self.size)

    def run(self) -> Any:
        program = operation_program(
            self.collective, self.case.operation, self.rank, self.size, self.array
        )
        return self.carried_out(program)


class LibraryCall(OnRank):
    """The library's own blocking allreduce, called as any other program would call it."""

    def __init__(self, case: TimedCase, transport: Transport, buffers: CaseBuffers):
        super().__init__(case, transport, buffers)
        if case.operation != "all_reduce":
            raise Unsupported(f"the library's own {case.operation} is not measured")
        if case.algorithm not in LIBRARY_CALLS[transport.name]:
            raise Unsupported(f"{transport.name} has no such call of its own")
        engine: Any = transport
        if transport.name == "mpi":
            self.call = self._mpi_call(engine.MPI)
        else:
            tensor = engine.torch.from_numpy(self.array)
            self.call = lambda: engine.dist.all_reduce(tensor)

    def _mpi_call(self, mpi: Any) -> Callable[[], object]:
        datatype = mpi.Datatype.fromcode(self.array.dtype.char)
        given: Any = mpi.IN_PLACE
        if self.case.algorithm == LIBRARY_APART:
            given = [self.source, datatype]
        into = [self.array, datatype]
        return lambda: mpi.COMM_WORLD.Allreduce(given, into, mpi.SUM)

    def run(self) -> Any:
        self.call()
        return self.array


def element_count(case: TimedCase) -> int:
    """How many elements of its dtype the bytes of a case are."""
    itemsize = np.dtype(case.dtype).itemsize
    if case.bytes % itemsize and case.operation != MESSAGE:
        raise Deep500Error(
            f"{case.bytes} bytes are no whole number of elements of {case.dtype}: give a multiple of {itemsize}"
        )
    return case.bytes // itemsize


def subject_of(case: TimedCase, transport: Transport, buffers: CaseBuffers) -> OnRank:
    """The case as it is measured on this rank."""
    from .messages import message_subject
    from .progress import OverlappedCall

    if case.operation == MESSAGE:
        return message_subject(case, transport, buffers)
    if case.progress != ALONE:
        return OverlappedCall(case, transport, buffers)
    if case.algorithm in LIBRARIES:
        return LibraryCall(case, transport, buffers)
    return Algorithm(case, transport, buffers)
