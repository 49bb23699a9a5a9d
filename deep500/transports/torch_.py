"""torch.distributed: gloo between processors, NCCL where arrays would be on GPUs."""

import threading
from datetime import timedelta
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
from ..frameworks import framework
from ._driver import Pending, ProcessTransport, as_bytes

HERE = "deep500/here"  # keys of the store: ranks that have come, and ranks that have lost another one
LOST = "deep500/lost"


class Torch(ProcessTransport):
    """The ranks that torchrun started (or whoever set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT).

    Arrays are in the host's memory, so that the backend is gloo; `backend` chooses another one.
    """

    name = "torch"

    def __init__(self, deadline: float = DEADLINE, backend: str = "gloo"):
        self.torch = framework("pytorch").module
        self.dist = self.torch.distributed
        if not self.dist.is_available():
            raise Unsupported(
                "this build of PyTorch has no torch.distributed: use the transport mpi"
            )
        self.store, rank, size = self._rendezvous(deadline)
        super().__init__(rank, size, deadline)
        self._meet(backend)

    def _rendezvous(self, deadline: float) -> tuple[Any, int, int]:
        limit = timedelta(seconds=deadline)
        try:
            return next(self.dist.rendezvous("env://", timeout=limit))
        except (ValueError, RuntimeError) as error:
            raise Deep500Error(
                "torch.distributed cannot start (start it with torchrun, or choose another "
                f"MASTER_PORT if it is in use): {one_line(error)}"
            ) from error

    def _meet(self, backend: str) -> None:
        """Begin together; whoever does not come within the deadline is named."""
        limit = timedelta(seconds=self.deadline)
        self.store.set(f"{HERE}/{self.rank}", "1")
        try:
            self.store.wait(
                [f"{HERE}/{rank}" for rank in range(self.size)], limit
            )
            self.dist.init_process_group(
                backend,
                store=self.store,
                rank=self.rank,
                world_size=self.size,
                timeout=limit,
            )
        except RuntimeError as error:
            missing = self._absent(HERE)
            named = ", ".join(map(str, missing)) or "unknown"
            raise Deep500Error(
                f"rank {named} did not come within {self.deadline:g} s: rank {self.rank} of "
                f"{self.size} waited for it ({one_line(error)})"
            ) from error

    def close(self) -> None:
        if not self.broken:
            self.dist.destroy_process_group()
            self.broken = True

    def _send(self, step: Send) -> Pending:
        tensor = self._tensor(as_bytes(step.array))
        return self._begun(
            step, tensor, lambda: self.dist.isend(tensor, step.to, tag=step.tag)
        )

    def _receive(self, step: Recv | RecvAny) -> Pending:
        tensor = self._tensor(as_bytes(step.into))
        source = step.source if isinstance(step, Recv) else None
        return self._begun(
            step, tensor, lambda: self.dist.irecv(tensor, source, tag=step.tag)
        )

    def _collective(self, step: Any) -> Pending:
        dist = self.dist
        if isinstance(step, AllReduce):
            tensor = self._reducible(step)
            op = getattr(dist.ReduceOp, step.op.upper())
            return self._begun(
                step, tensor, lambda: dist.all_reduce(tensor, op, async_op=True)
            )
        if isinstance(step, Broadcast):
            tensor = self._tensor(as_bytes(step.array))
            return self._begun(
                step,
                tensor,
                lambda: dist.broadcast(tensor, step.root, async_op=True),
            )
        if isinstance(step, AllGather):
            return self._gather(step)
        assert isinstance(step, Barrier)
        return self._begun(step, None, lambda: dist.barrier(async_op=True))

    def _gather(self, step: AllGather) -> Pending:
        """Gloo gathers arrays of one length: shorter ones are filled up, and cut again."""
        payload = as_bytes(step.array)
        counts = [payload.size] * self.size
        if step.uneven:
            counts = self._lengths(step, payload.size)
        longest = max(counts)
        padded = np.zeros(longest, np.uint8)
        padded[: payload.size] = payload
        gathered = np.empty((self.size, longest), np.uint8)
        tensor = self._tensor(padded)
        rows = [*self._tensor(gathered)]
        pending = self._begun(
            step,
            tensor,
            lambda: self.dist.all_gather(rows, tensor, async_op=True),
        )
        pending.gathered = (gathered, counts)
        return pending

    def _lengths(self, step: AllGather, length: int) -> list[int]:
        """The lengths of all ranks' arrays."""
        lengths = self.torch.zeros(self.size, dtype=self.torch.int64)
        lengths[self.rank] = length
        pending = self._begun(
            step, lengths, lambda: self.dist.all_reduce(lengths, async_op=True)
        )
        self._complete(
            pending, self.clock(self.rank) + self.deadline, self.deadline
        )
        return lengths.tolist()

    def _begun(self, step: Any, tensor: Any, start: Any) -> "TorchPending":
        empty = tensor is not None and tensor.numel() == 0
        try:
            work = None if empty else start()
        except RuntimeError as error:
            raise ConnectionError(one_line(error)) from error
        return TorchPending(self, step, work, tensor)

    def _tensor(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array)

    def _reducible(self, step: AllReduce) -> Any:
        try:
            return self._tensor(step.array)
        except TypeError:
            raise Unsupported(
                f"torch.distributed cannot reduce {step.array.dtype}: reduce float32 or float64, "
                "or gather"
            ) from None

    # Roll calls by the store, which lives with rank 0 or with torchrun

    def _absent(self, key: str) -> list[int]:
        """The ranks that have not set a key; rank 0 if nobody can say, since the store is gone with it."""
        try:
            return [
                r
                for r in range(self.size)
                if not self.store.check([f"{key}/{r}"])
            ]
        except RuntimeError:
            return [0]

    def _roll_call(self, seconds: float) -> list[int]:
        try:
            self.store.set(f"{LOST}/{self.rank}", "1")
            keys = [f"{LOST}/{rank}" for rank in range(self.size)]
            self.store.wait(keys, timedelta(seconds=seconds))
        except RuntimeError:
            pass  # somebody is missing, or the store is
        return self._absent(LOST)


class TorchPending(Pending):
    """A piece of work of torch's; None if there is nothing to transfer."""

    def __init__(self, transport: Torch, step: Any, work: Any, tensor: Any):
        self.transport = transport
        self.step = step
        self.work = work
        self.tensor = tensor
        self.gathered: tuple[np.ndarray, list[int]] | None = None
        self._waiter: threading.Thread | None = None
        self._error: RuntimeError | None = None
        self.complete = work is None

    def wait(self, seconds: float) -> bool:
        if self._waiter is not None:
            self._waiter.join(seconds)
            return self.poll()
        if not self.complete:
            try:
                self.work.wait(timedelta(seconds=max(seconds, 1e-3)))
            except RuntimeError as error:
                if "imed out" in str(error):
                    return False
                raise ConnectionError(one_line(error)) from error
            self.complete = True
        return True

    def poll(self) -> bool:
        """Gloo does not say whether a message has come unless someone waits for it: a thread does."""
        if not self.complete and self._waiter is None:
            self._waiter = threading.Thread(
                target=self._wait_apart, daemon=True
            )
            self._waiter.start()
        if self._error is not None:
            raise ConnectionError(one_line(self._error))
        return self.complete

    def _wait_apart(self) -> None:
        try:
            self.work.wait(timedelta(days=1))
            self.complete = True
        except RuntimeError as error:
            self._error = error

    def result(self) -> Any:
        step = self.step
        if isinstance(step, RecvAny):
            return Arrival(self.work._source_rank(), step.into)
        if isinstance(step, Recv):
            return step.into
        if self.gathered is not None:
            return self._arrays(*self.gathered)
        if isinstance(step, Send):
            return None
        return getattr(step, "array", None)

    def _arrays(self, rows: np.ndarray, counts: list[int]) -> list[np.ndarray]:
        """What was gathered, without what short arrays were filled up with."""
        array = self.step.array
        arrays = []
        for row, count in zip(rows, counts, strict=True):
            part = row[:count].view(array.dtype)
            if not self.step.uneven:
                part = part.reshape(array.shape)
            arrays.append(part)
        return arrays
