"""MPI by mpi4py: the memory of arrays as it lies, never pickled, and no wait without a deadline."""

import atexit
import signal
import threading
import time
from functools import cache
from typing import Any

import numpy as np

from ..contracts.transport import (
    DEADLINE,
    AllGather,
    AllReduce,
    Arrival,
    Barrier,
    Broadcast,
    Recv,
    RecvAny,
    Send,
)
from ..errors import Deep500Error, Unsupported, one_line
from ._driver import Pending, ProcessTransport, as_bytes, split_gathered

EAGER_SECONDS = 2e-3  # for which a wait asks without a pause
PAUSE = 5e-5
ROLL_CALL = 0.1  # seconds between two looks for a roll call
EXIT_CODE = 2


@cache
def mpi() -> Any:
    """The module of mpi4py, which starts MPI when it is first imported."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise Unsupported(
            f"the transport mpi needs mpi4py and an MPI library ({one_line(error)}): pip install "
            "'deep500-bench[mpi]', or use the transport torch or virtual"
        ) from error
    except RuntimeError as error:
        raise Deep500Error(
            f"MPI cannot be started: {one_line(error)}"
        ) from error
    return MPI


class Mpi(ProcessTransport):
    """The ranks that mpiexec or srun started, as MPI_COMM_WORLD numbers them."""

    name = "mpi"

    def __init__(self, deadline: float = DEADLINE):
        self.MPI = mpi()
        # of our own, so that messages of the user's are never taken for ours
        self.comm = self.MPI.COMM_WORLD.Dup()
        self.control = self.MPI.COMM_WORLD.Dup()
        super().__init__(self.comm.Get_rank(), self.comm.Get_size(), deadline)
        self._peer_died = False
        self._listen()
        atexit.register(self._leave)

    def _listen(self) -> None:
        """MPICH's launcher, told not to kill the others when a rank dies, sends them SIGUSR1 instead."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        if (
            in_main_thread
            and signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
        ):
            signal.signal(signal.SIGUSR1, self._hear)

    def _hear(self, *_: object) -> None:
        self._peer_died = True

    def close(self) -> None:
        if not self.broken:
            atexit.unregister(self._leave)
            self.comm.Free()
            self.control.Free()
            self.broken = True

    def _leave(self) -> None:
        """At the end of Python: a rank that has lost others ends all of them, or MPI would wait for ever."""
        if self.broken:
            self.abort()

    def abort(self) -> None:
        """End all ranks."""
        self.MPI.COMM_WORLD.Abort(EXIT_CODE)

    def _send(self, step: Send) -> Pending:
        memory = as_bytes(step.array)
        request = self.comm.Isend([memory, self.MPI.BYTE], step.to, step.tag)
        return MpiPending(self, step, request, memory)

    def _receive(self, step: Recv | RecvAny) -> Pending:
        memory = as_bytes(step.into)
        source = step.source if isinstance(step, Recv) else self.MPI.ANY_SOURCE
        request = self.comm.Irecv([memory, self.MPI.BYTE], source, step.tag)
        return MpiPending(self, step, request, memory)

    def _collective(self, step: Any) -> Pending:
        MPI, comm = self.MPI, self.comm
        if isinstance(step, AllReduce):
            op = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}[step.op]
            return MpiPending(
                self, step, comm.Iallreduce(MPI.IN_PLACE, self._typed(step), op)
            )
        if isinstance(step, Broadcast):
            memory = as_bytes(step.array)
            request = comm.Ibcast([memory, MPI.BYTE], step.root)
            return MpiPending(self, step, request, memory)
        if isinstance(step, AllGather):
            return self._gather(step)
        assert isinstance(step, Barrier)
        return MpiPending(self, step, comm.Ibarrier())

    def _typed(self, step: AllReduce) -> Any:
        """The array with the datatype that MPI can add up."""
        try:
            datatype = self.MPI.Datatype.fromcode(step.array.dtype.char)
        except ValueError:
            raise Unsupported(
                f"MPI cannot reduce {step.array.dtype}: reduce float32 or float64, or gather"
            ) from None
        return [step.array, datatype]

    def _gather(self, step: AllGather) -> Pending:
        payload = as_bytes(step.array)
        counts = np.full(self.size, payload.size, np.int64)
        if step.uneven:
            lengths = MpiPending(
                self, step, self.comm.Iallgather(counts[:1].copy(), counts)
            )
            self._complete(
                lengths, time.perf_counter() + self.deadline, self.deadline
            )
        gathered = np.empty(int(counts.sum()), np.uint8)
        receive = [gathered, counts.tolist(), self.MPI.BYTE]
        request = self.comm.Iallgatherv([payload, self.MPI.BYTE], receive)
        pending = MpiPending(self, step, request, payload)
        pending.gathered = (gathered, counts.tolist())
        return pending

    # Roll calls: a rank that has failed tells all others, which then fail, too, and answer.

    def roll_call_heard(self) -> bool:
        """Whether another rank has failed."""
        if self._peer_died:
            return True
        return bool(self.control.Iprobe(self.MPI.ANY_SOURCE, 0))

    def _roll_call(self, seconds: float) -> list[int]:
        others = [rank for rank in range(self.size) if rank != self.rank]
        note = np.zeros(1, np.uint8)
        self._notes = [self.control.Isend(note, rank, 0) for rank in others]
        missing = set(others)
        deadline = time.perf_counter() + seconds
        while missing and time.perf_counter() < deadline:
            status = self.MPI.Status()
            if self.control.Iprobe(self.MPI.ANY_SOURCE, 0, status):
                self.control.Recv(np.zeros(1, np.uint8), status.Get_source(), 0)
                missing.discard(status.Get_source())
            else:
                time.sleep(PAUSE)
        return sorted(missing)


class MpiPending(Pending):
    """A request of MPI's; `memory` is what it works on, which must live as long as it does."""

    def __init__(
        self,
        transport: Mpi,
        step: Any,
        request: Any,
        memory: np.ndarray | None = None,
    ):
        self.transport = transport
        self.step = step
        self.request = request
        self.memory = memory
        self.gathered: tuple[np.ndarray, list[int]] | None = None
        self.status = transport.MPI.Status()
        self.complete = False

    def poll(self) -> bool:
        if not self.complete:
            self.complete = self.request.Test(self.status)
        return self.complete

    def wait(self, seconds: float) -> bool:
        begin = last_look = time.perf_counter()
        while not self.poll():
            now = time.perf_counter()
            if now - begin > seconds:
                return False
            if now - begin > EAGER_SECONDS:
                time.sleep(PAUSE)
            if now - last_look > ROLL_CALL:
                last_look = now
                if self.transport.roll_call_heard():
                    raise ConnectionError(
                        "it has died, or another rank has lost it"
                    )
        return True

    def result(self) -> Any:
        step = self.step
        if isinstance(step, Recv | RecvAny):
            self._check_length(step)
        if isinstance(step, RecvAny):
            return Arrival(self.status.Get_source(), step.into)
        if self.gathered is not None:
            return self._arrays(*self.gathered)
        if isinstance(step, Recv):
            return step.into
        if isinstance(step, Send):
            return None
        return getattr(step, "array", None)

    def _check_length(self, step: Recv | RecvAny) -> None:
        received = self.status.Get_count(self.transport.MPI.BYTE)
        if received != step.into.nbytes:
            raise Deep500Error(
                f"rank {self.transport.rank} expects {step.into.nbytes} bytes from rank "
                f"{self.status.Get_source()} (tag {step.tag}), which sent {received}"
            )

    def _arrays(
        self, gathered: np.ndarray, counts: list[int]
    ) -> list[np.ndarray]:
        array = self.step.array
        arrays = split_gathered(gathered, counts, array.dtype)
        if self.step.uneven:
            return arrays
        return [part.reshape(array.shape) for part in arrays]
