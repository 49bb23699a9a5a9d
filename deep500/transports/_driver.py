"""What MPI and torch.distributed have in common: one rank's program, driven step by step against deadlines."""

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contracts.transport import (
    COLLECTIVES,
    DEADLINE,
    Arrival,
    Compute,
    Handle,
    Now,
    Overlap,
    Poll,
    Program,
    RankFailure,
    Recv,
    RecvAny,
    Send,
    Traffic,
    Transport,
    Wait,
    WaitAny,
)
from ..errors import Deep500Error

EAGER_SECONDS = 1e-3  # for which a wait for any of several asks without a pause
PAUSE = 1e-4


class Pending:
    """A step that was begun. A subclass asks the engine about it."""

    step: Any

    def wait(self, seconds: float) -> bool:
        """Wait for at most so long; whether it is complete. Raises ConnectionError if a peer is gone."""
        raise NotImplementedError

    def poll(self) -> bool:
        """Whether it is complete, without waiting."""
        raise NotImplementedError

    def result(self) -> Any:
        """What a Wait answers, once it is complete."""
        raise NotImplementedError


class ProcessTransport(Transport):
    """Runs the program of the one rank that is this process."""

    def __init__(self, rank: int, size: int, deadline: float = DEADLINE):
        self.rank = rank
        self.size = size
        self.ranks = (rank,)
        self.deadline = deadline
        self.traffic = {rank: Traffic()}
        self.waited = {rank: 0.0}
        # after a failure, nothing can be communicated any more
        self.broken = False
        self._pending: dict[Handle, Pending] = {}
        self._next_handle = 0
        self._steps = 0

    def clock(self, rank: int) -> float:
        return time.perf_counter()

    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        if self.broken:
            raise Deep500Error(
                "this rank has lost another one: start all ranks again"
            )
        generator = program(self.rank)
        answer: Any = None
        try:
            while True:
                step = generator.send(answer)
                self._steps += 1
                answer = self._do(step)
        except StopIteration as stop:
            self._finish_sends()
            return {self.rank: stop.value}
        except RankFailure:
            self.broken = True
            raise
        finally:
            generator.close()

    def _do(self, step: Any) -> Any:
        if isinstance(step, Compute):
            return step.function()
        if isinstance(step, Overlap):
            return step.function(self._begin)
        if isinstance(step, Wait):
            return self._wait(step)
        if isinstance(step, WaitAny):
            return self._wait_any(step)
        if isinstance(step, Poll):
            return self._poll(step)
        if isinstance(step, Now):
            return self.clock(self.rank)
        return self._begin(step)

    def _begin(self, step: Any) -> Handle:
        array = getattr(step, "array", None)
        if array is None:
            array = getattr(step, "into", None)
        if array is not None and not array.flags.c_contiguous:
            raise Deep500Error(
                f"{type(step).__name__} needs an array whose elements lie in order in memory: copy it first"
            )
        other = getattr(step, "to", getattr(step, "source", None))
        if other is not None and (
            other == self.rank or not 0 <= other < self.size
        ):
            raise Deep500Error(
                f"rank {self.rank} communicates with rank {other}: give another rank from 0 to "
                f"{self.size - 1}"
            )
        try:
            pending = self._started(step, array)
        except ConnectionError as error:
            raise self._lost(step, str(error)) from error
        self._next_handle += 1
        self._pending[self._next_handle] = pending
        return self._next_handle

    def _started(self, step: Any, array: np.ndarray | None) -> Pending:
        traffic = self.traffic[self.rank]
        nbytes = 0 if array is None else array.nbytes
        if isinstance(step, Send):
            traffic.count("Send", nbytes)
            return self._send(step)
        if isinstance(step, Recv | RecvAny):
            return self._receive(step)
        if isinstance(step, COLLECTIVES):
            traffic.count(type(step).__name__, nbytes)
            return self._collective(step)
        raise Deep500Error(
            f"the program of rank {self.rank} yielded {step!r}, which is no communication step"
        )

    @abstractmethod
    def _send(self, step: Send) -> Pending: ...

    @abstractmethod
    def _receive(self, step: Recv | RecvAny) -> Pending: ...

    @abstractmethod
    def _collective(self, step: Any) -> Pending: ...

    @abstractmethod
    def _roll_call(self, seconds: float) -> list[int]:
        """Which ranks do not answer within so many seconds; every rank that fails calls this."""

    # Waiting

    def _wait(self, step: Wait) -> list[Any]:
        begin = time.perf_counter()
        deadline = begin + self._timeout(step)
        pendings = [self._taken(handle) for handle in step.handles]
        for pending in pendings:
            self._complete(pending, deadline, self._timeout(step))
        self.waited[self.rank] += time.perf_counter() - begin
        return [self._result(pending) for pending in pendings]

    def _complete(
        self, pending: Pending, deadline: float, timeout: float
    ) -> None:
        try:
            complete = pending.wait(max(0.0, deadline - time.perf_counter()))
        except ConnectionError as error:
            raise self._lost(pending.step, str(error)) from error
        if not complete:
            raise self._lost(
                pending.step, f"it did not come within {timeout:g} s"
            )

    def _wait_any(self, step: WaitAny) -> tuple[int, Any]:
        begin = time.perf_counter()
        timeout = self._timeout(step)
        while True:
            for index, handle in enumerate(step.handles):
                if self._is_complete(self._pending[handle]):
                    self.waited[self.rank] += time.perf_counter() - begin
                    return index, self._result(self._taken(handle))
            waited = time.perf_counter() - begin
            if waited > timeout:
                first = self._pending[step.handles[0]].step
                raise self._lost(first, f"it did not come within {timeout:g} s")
            if waited > EAGER_SECONDS:
                time.sleep(PAUSE)

    def _poll(self, step: Poll) -> list[int]:
        complete = []
        for index, handle in enumerate(step.handles):
            if self._pending[handle].poll():
                complete.append(index)
        return complete

    def _is_complete(self, pending: Pending) -> bool:
        try:
            return pending.poll()
        except ConnectionError as error:
            raise self._lost(pending.step, str(error)) from error

    def _timeout(self, step: Wait | WaitAny) -> float:
        return self.deadline if step.timeout is None else step.timeout

    def _taken(self, handle: Handle) -> Pending:
        pending = self._pending.pop(handle, None)
        if pending is None:
            raise Deep500Error(
                f"rank {self.rank} waits for the handle {handle}, which it has not, or has waited "
                "for already"
            )
        return pending

    def _result(self, pending: Pending) -> Any:
        result = pending.result()
        if isinstance(pending.step, Recv | RecvAny):
            array = result.array if isinstance(result, Arrival) else result
            self.traffic[self.rank].count("Recv", array.nbytes)
        return result

    def _finish_sends(self) -> None:
        """What a program has sent and not waited for must be on its way before anything else happens."""
        deadline = time.perf_counter() + self.deadline
        for handle, pending in [*self._pending.items()]:
            if isinstance(pending.step, Send):
                self._complete(self._taken(handle), deadline, self.deadline)

    # Failures

    def _lost(self, step: Any, reason: str) -> RankFailure:
        """The failure of a step: the ranks that answer no roll call are missing."""
        self.broken = True
        missing = self._roll_call(min(self.deadline, 10.0))
        if not missing and isinstance(step, Recv):
            missing = [step.source]
        names = ", ".join(map(str, missing)) or "unknown"
        return RankFailure(
            f"rank {names} is lost: rank {self.rank} waited for {describe(step)} in its "
            f"communication step {self._steps} ({reason})",
            missing,
        )


def describe(step: Any) -> str:
    """What a step waits for, in words."""
    if isinstance(step, Recv):
        return f"a message from rank {step.source} (tag {step.tag})"
    if isinstance(step, RecvAny):
        return f"a message from any rank (tag {step.tag})"
    if isinstance(step, Send):
        return f"rank {step.to} to receive a message (tag {step.tag})"
    return type(step).__name__


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The same memory as bytes, so that any dtype can be sent."""
    return array.reshape(-1).view(np.uint8)


def split_gathered(
    flat: np.ndarray, counts: Sequence[int], dtype: Any
) -> list[np.ndarray]:
    """Bytes of all ranks, one after another, as an array of each rank."""
    arrays = []
    start = 0
    for count in counts:
        arrays.append(flat[start : start + count].view(dtype))
        start += count
    return arrays
