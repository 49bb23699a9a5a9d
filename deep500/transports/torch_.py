"""torch.distributed: gloo between processors; tensors on devices are summed and gathered by NCCL, or its stand-in."""

import atexit
import os
import sys
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np

from ..contracts.device import SIMULATED
from ..contracts.transport import (
    COLLECTIVES,
    DEADLINE,
    AllGather,
    AllReduce,
    Arrival,
    Barrier,
    Broadcast,
    Recv,
    RecvAny,
    Send,
    is_on_device,
)
from ..errors import Deep500Error, Unsupported, one_line
from ..frameworks import framework
from ._driver import (
    LOOK_SECONDS,
    PeerGone,
    Pending,
    ProcessTransport,
    as_bytes,
)
from ._forms import Forms, form_tag
from ._notes import Note

# keys of the store: ranks that have come, notes of ranks that cannot go on (and that there are any), texts that all
# ranks exchange, and that a failure is reported
HERE = "deep500/here"
NOTE = "deep500/note"
ANY_NOTE = "deep500/notes"
EXCHANGE = "deep500/exchange"
REPORTED = "deep500/reported"
REPORT_SECONDS = 2.0
PAUSE = 5e-4
WAITER = "deep500 waits for gloo"


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
        self._exchanges = 0
        self._groups: dict[
            str, Any
        ] = {}  # for tensors on devices, by the kind of device
        self.forms = Forms(rank, StoreOfForms(self))
        self._meet(backend)
        # a process group that outlives Python now and then aborts its process
        atexit.register(self._end)

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
            self.store.wait([f"{HERE}/{rank}" for rank in range(self.size)], limit)
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
            atexit.unregister(self._end)
            if self.dist.is_initialized():
                self.dist.destroy_process_group()
            self.broken = True

    def _end(self) -> None:
        """Close at the end of the program; after an uncaught error, without the threads that wait for gloo.

        They wait for messages that never come, and each would abort the process when Python takes itself down.
        """
        is_uncaught = isinstance(getattr(sys, "last_value", None), Exception)
        if not self.broken or not is_uncaught:
            self.close()
            return
        self._let_report()
        if any(thread.name == WAITER for thread in threading.enumerate()):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)

    def _let_report(self) -> None:
        """Wait until the failure is reported: torchrun ends all ranks when the first one ends."""
        with suppress(RuntimeError):  # the store is gone, or nobody has reported
            if self.reports:
                self.store.set(REPORTED, "1")
            else:
                self.store.wait([REPORTED], timedelta(seconds=REPORT_SECONDS))

    def carries(self, device: str) -> bool:
        return bool(self._backend_of(device.partition(":")[0]))

    def _group_of(self, kind: str) -> Any:
        """The group of all ranks for tensors on devices of a kind, made when all call their first collective."""
        if kind not in self._groups:
            backend = self._backend_of(kind)
            self._groups[kind] = self.dist.new_group(backend=backend)
        return self._groups[kind]

    def _backend_of(self, kind: str) -> str:
        """What sums tensors on devices of a kind; empty if nothing does."""
        if kind == "cuda" and self.dist.is_nccl_available():
            return "nccl"
        if kind == "xpu" and self.dist.is_xccl_available():
            return "xccl"
        if kind == SIMULATED:
            from ..frameworks.pytorch import simulated_collectives

            simulated_collectives.register()
            return simulated_collectives.NAME
        return ""

    def _send(self, step: Send) -> Pending:
        self.forms.tell(step)
        tensor = self._tensor(as_bytes(step.array))
        tag = form_tag(step, step.array)
        return self._begun(
            step, tensor, lambda: self.dist.isend(tensor, step.to, tag=tag)
        )

    def _receive(self, step: Recv | RecvAny) -> Pending:
        if isinstance(step, RecvAny):
            return self.begin_receive(step)
        return ReceivePending(self, step)

    def begin_receive(self, step: Recv | RecvAny) -> "TorchPending":
        """Let gloo write the next message into an array."""
        tensor = self._tensor(as_bytes(step.into))
        source = step.source if isinstance(step, Recv) else None
        tag = form_tag(step, step.into)
        return self._begun(
            step, tensor, lambda: self.dist.irecv(tensor, source, tag=tag)
        )

    def _collective(self, step: Any) -> Pending:
        dist = self.dist
        if isinstance(step, AllReduce):
            tensor = self._reducible(step)
            op = getattr(dist.ReduceOp, step.op.upper())
            group = None
            if is_on_device(tensor):
                group = self._group_of(tensor.device.type)
            return self._begun(
                step, tensor, lambda: dist.all_reduce(tensor, op, group, async_op=True)
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
        if is_on_device(step.array):
            return self._gather_on_device(step)
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

    def _gather_on_device(self, step: AllGather) -> Pending:
        tensor = step.array
        group = self._group_of(tensor.device.type)
        rows = [self.torch.empty_like(tensor) for _ in range(self.size)]
        pending = self._begun(
            step,
            tensor,
            lambda: self.dist.all_gather(rows, tensor, group, async_op=True),
        )
        pending.rows = rows
        return pending

    def _lengths(self, step: AllGather, length: int) -> list[int]:
        """The lengths of all ranks' arrays."""
        lengths = self.torch.zeros(self.size, dtype=self.torch.int64)
        lengths[self.rank] = length
        pending = self._begun(
            step, lengths, lambda: self.dist.all_reduce(lengths, async_op=True)
        )
        self._complete([pending], self.deadline)
        return lengths.tolist()

    def _begun(self, step: Any, tensor: Any, start: Any) -> "TorchPending":
        empty = tensor is not None and tensor.numel() == 0
        try:
            work = None if empty else start()
        except RuntimeError as error:
            raise PeerGone(_gloo_reason(error)) from error
        return TorchPending(self, step, work, tensor)

    def _tensor(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array)

    def _reducible(self, step: AllReduce) -> Any:
        if isinstance(step.array, self.torch.Tensor):
            return step.array
        if step.array.dtype.name == "bfloat16":
            # NumPy's is another module's, of which PyTorch knows nothing
            return self._tensor(step.array.view(np.int16)).view(self.torch.bfloat16)
        try:
            return self._tensor(step.array)
        except TypeError:
            raise Unsupported(
                f"torch.distributed cannot reduce {step.array.dtype}: reduce float32 or float64, "
                "or gather"
            ) from None

    # Notes by the store, which lives with rank 0 or with torchrun

    def _absent(self, key: str) -> list[int]:
        """The ranks that have not set a key; rank 0 if nobody can say, since the store is gone with it."""
        try:
            return [r for r in range(self.size) if not self.store.check([f"{key}/{r}"])]
        except RuntimeError:
            return [0]

    def _exchange(self, text: str) -> Pending:
        self._exchanges += 1
        key = f"{EXCHANGE}/{self._exchanges}"
        try:
            self.store.set(f"{key}/{self.rank}", text)
        except RuntimeError as error:
            raise PeerGone(one_line(error)) from error
        return StorePending(self, [f"{key}/{rank}" for rank in range(self.size)])

    def check_peers(self) -> None:
        """Raise a ConnectionError if another rank has failed."""
        if self.is_set([ANY_NOTE]):
            raise ConnectionError("another rank cannot go on")

    def is_set(self, keys: list[str]) -> bool:
        """Whether the store has all keys; raises PeerGone if the store is gone."""
        try:
            return self.store.check(keys)
        except RuntimeError as error:
            raise PeerGone(one_line(error)) from error

    def _post(self, note: Note) -> None:
        with suppress(RuntimeError):  # the store is gone
            self.store.set(f"{NOTE}/{self.rank}", note.to_json())
            self.store.set(ANY_NOTE, "1")

    def _new_notes(self) -> list[Note]:
        notes = []
        for rank in range(self.size):
            if self.is_set([f"{NOTE}/{rank}"]):
                text = self.store.get(f"{NOTE}/{rank}").decode()
                notes.append(Note.from_json(text))
        time.sleep(LOOK_SECONDS / 2)
        return notes


def _gloo_reason(error: RuntimeError) -> str:
    """What gloo says, without the place in its source and its advice."""
    return one_line(error).split("] ", 1)[-1].split(". This is", 1)[0]


class StorePending(Pending):
    """Texts that all ranks set in the store."""

    def __init__(self, transport: Torch, keys: list[str]):
        self.transport = transport
        self.keys = keys

    def poll(self) -> bool:
        return self.transport.is_set(self.keys)

    def wait(self, seconds: float) -> bool:
        begin = last_look = time.perf_counter()
        while not self.poll():
            now = time.perf_counter()
            if now - begin > seconds:
                return False
            if now - last_look > LOOK_SECONDS:
                last_look = now
                self.transport.check_peers()
            time.sleep(PAUSE)
        return True

    def result(self) -> Any:
        return [self.transport.store.get(key).decode() for key in self.keys]


class StoreOfForms:
    """The store as ranks tell the forms of their messages in it."""

    def __init__(self, transport: Torch):
        self.transport = transport

    def set(self, to: int, key: str, text: str) -> None:
        try:
            self.transport.store.set(key, text)
        except RuntimeError as error:
            raise PeerGone(one_line(error)) from error

    def read(self, key: str) -> str | None:
        if not self.transport.is_set([key]):
            return None
        return self.transport.store.get(key).decode()


class ReceivePending(Pending):
    """A receive from one rank, which begins once the form of the message is known."""

    def __init__(self, transport: Torch, step: Recv):
        self.transport = transport
        self.step = step
        self.channel = step.source, step.tag
        self.begun: TorchPending | None = None
        if step.announced:
            self._begin()
        else:
            transport.forms.begin_in_order(self.channel, step.into, self._begin)

    def _begin(self) -> None:
        self.begun = self.transport.begin_receive(self.step)

    def poll(self) -> bool:
        self.transport.forms.advance(self.channel)
        return self.begun is not None and self.begun.poll()

    def wait(self, seconds: float) -> bool:
        begin = last_look = time.perf_counter()
        while self.begun is None:
            self.transport.forms.advance(self.channel)
            now = time.perf_counter()
            if now - begin > seconds:
                return False
            if now - last_look > LOOK_SECONDS:
                last_look = now
                self.transport.check_peers()
            if self.begun is None:
                time.sleep(PAUSE)
        left = begin + seconds - time.perf_counter()
        return self.begun.wait(max(0.0, left))

    def result(self) -> Any:
        assert self.begun is not None
        return self.begun.result()


class TorchPending(Pending):
    """A piece of work of torch's; None if there is nothing to transfer."""

    def __init__(self, transport: Torch, step: Any, work: Any, tensor: Any):
        self.transport = transport
        self.step = step
        self.work = work
        self.tensor = tensor
        self.gathered: tuple[np.ndarray, list[int]] | None = None
        self.rows: list[Any] | None = None  # gathered on a device
        self._waiter: threading.Thread | None = None
        self._error: RuntimeError | None = None
        self.complete = work is None

    def wait(self, seconds: float) -> bool:
        if self._waiter is not None:
            self._waiter.join(seconds)
            return self.poll()
        begin = time.perf_counter()
        while not self.complete:
            left = max(begin + seconds - time.perf_counter(), 1e-3)
            # a collective can be waited for again, a message cannot
            if isinstance(self.step, COLLECTIVES):
                left = min(left, LOOK_SECONDS)
            try:
                self.work.wait(timedelta(seconds=left))
            except RuntimeError as error:
                if "imed out" not in str(error):
                    raise PeerGone(_gloo_reason(error)) from error
                if time.perf_counter() - begin >= seconds:
                    return False
                self.transport.check_peers()
            else:
                self.complete = True
        return True

    def poll(self) -> bool:
        """Gloo does not say whether a message has come unless someone waits for it: a thread does."""
        if not self.complete and self._waiter is None:
            self._waiter = threading.Thread(
                target=self._wait_apart, name=WAITER, daemon=True
            )
            self._waiter.start()
        if self._error is not None:
            raise PeerGone(_gloo_reason(self._error))
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
            source = self.work._source_rank()
            self.transport.forms.compare((source, step.tag), step.into)
            return Arrival(source, step.into)
        if isinstance(step, Recv):
            return step.into
        if self.gathered is not None:
            return self._arrays(*self.gathered)
        if self.rows is not None:
            return self.rows
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
