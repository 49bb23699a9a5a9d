"""MPI by mpi4py: the memory of arrays as it lies, never pickled, and no wait without a deadline."""

import atexit
import os
import signal
import threading
import time
from functools import cache
from typing import Any

import numpy as np

from ..contracts.collective import FUNCTIONS
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
from ._driver import (
    LOOK_SECONDS,
    PeerGone,
    Pending,
    ProcessTransport,
    as_bytes,
    split_gathered,
)
from ._forms import Forms, form_of, other_form
from ._notes import Note

EAGER_SECONDS = 2e-3  # for which a wait asks without a pause
# and before it lets others have the processor between questions: with more ranks than processors, who is waited for
SELFISH_SECONDS = 2e-5
PAUSE = 5e-5
EXIT_CODE = 2
NOTES, FORMS = 0, 1  # tags of texts beside the messages of programs
# within which a rank has told the form of a message that has come
TELLING_SECONDS = 1.0
NOTE_BYTES = 1024  # of a text that all ranks exchange
# MPICH's launcher drops what was printed right before an abort: the rank that reports a failure waits for it to be
# shown, and the others wait for that rank
SHOWING_SECONDS = 1.0
LINGERING_SECONDS = 5.0


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
        raise Deep500Error(f"MPI cannot be started: {one_line(error)}") from error
    return MPI


class Mpi(ProcessTransport):
    """The ranks that mpiexec or srun started, as MPI_COMM_WORLD numbers them."""

    name = "mpi"

    def __init__(self, deadline: float = DEADLINE):
        self.MPI = mpi()
        # a communicator of our own: the user's messages are never taken for ours
        world = self.MPI.COMM_WORLD
        # in turn, so that a collective too many is not taken for one of the next program
        self.comms = (world.Dup(), world.Dup())
        self.control = world.Dup()
        super().__init__(world.Get_rank(), world.Get_size(), deadline)
        self._peer_died = False
        self._sent_notes: list[Any] = []
        self._ops: dict[str, Any] = {}
        self.forms = Forms(self.rank, ControlMessages(self))
        self._listen()
        atexit.register(self._leave)

    def _listen(self) -> None:
        """MPICH's launcher, told not to kill the others when a rank dies, sends them SIGUSR1 instead."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        unused = (signal.SIG_DFL, signal.SIG_IGN)
        if in_main_thread and signal.getsignal(signal.SIGUSR1) in unused:
            signal.signal(signal.SIGUSR1, self._hear)

    def _stop_listening(self) -> None:
        """The launcher also sends it when a rank has ended well: it must not end us while Python ends."""
        if signal.getsignal(signal.SIGUSR1) == self._hear:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def _hear(self, *_: object) -> None:
        self._peer_died = True

    @property
    def comm(self) -> Any:
        return self.comms[self._runs % 2]

    def close(self) -> None:
        if not self.broken:
            atexit.unregister(self._leave)
            self._stop_listening()
            for comm in (*self.comms, self.control):
                comm.Free()
            for op in self._ops.values():
                op.Free()
            self.broken = True

    def _leave(self) -> None:
        """At the end of Python: a rank that has lost others ends all of them, or MPI would wait for ever."""
        self._stop_listening()
        if self.broken:
            time.sleep(SHOWING_SECONDS if self.reports else LINGERING_SECONDS)
            self.abort()

    def abort(self) -> None:
        """End all ranks, without the line that MPICH would print after ours."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        self.MPI.COMM_WORLD.Abort(EXIT_CODE)

    def _send(self, step: Send) -> Pending:
        self.forms.tell(step)
        memory = as_bytes(step.array)
        request = self.comm.Isend([memory, self.MPI.BYTE], step.to, step.tag)
        return MpiPending(self, step, request, memory)

    def _receive(self, step: Recv | RecvAny) -> Pending:
        memory = as_bytes(step.into)
        source = step.source if isinstance(step, Recv) else self.MPI.ANY_SOURCE
        request = self.comm.Irecv([memory, self.MPI.BYTE], source, step.tag)
        pending = MpiPending(self, step, request, memory)
        pending.message = self.forms.numbered(step)
        return pending

    def _collective(self, step: Any) -> Pending:
        MPI, comm = self.MPI, self.comm
        if isinstance(step, AllReduce):
            into, op = self._reducible(step)
            return MpiPending(self, step, comm.Iallreduce(MPI.IN_PLACE, into, op))
        if isinstance(step, Broadcast):
            memory = as_bytes(step.array)
            request = comm.Ibcast([memory, MPI.BYTE], step.root)
            return MpiPending(self, step, request, memory)
        if isinstance(step, AllGather):
            return self._gather(step)
        assert isinstance(step, Barrier)
        return MpiPending(self, step, comm.Ibarrier())

    def _reducible(self, step: AllReduce) -> tuple[Any, Any]:
        """The array with the datatype that MPI can add up, and the operation."""
        MPI = self.MPI
        if step.array.dtype.name == "bfloat16":
            into = [step.array.view(np.uint16), MPI.UINT16_T]
            return into, self._bfloat16_op(step.op)
        try:
            datatype = MPI.Datatype.fromcode(step.array.dtype.char)
        except ValueError:
            raise Unsupported(
                f"MPI cannot reduce {step.array.dtype}: reduce float32 or float64, or gather"
            ) from None
        op = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}[step.op]
        return [step.array, datatype], op

    def _bfloat16_op(self, name: str) -> Any:
        """The operation on numbers that MPI does not know, by NumPy."""
        if name not in self._ops:
            function = FUNCTIONS[name]

            def reduce(incoming: Any, total: Any, _: Any) -> None:
                into = np.frombuffer(total, "bfloat16")
                function(np.frombuffer(incoming, "bfloat16"), into, out=into)

            self._ops[name] = self.MPI.Op.Create(reduce, commute=True)
        return self._ops[name]

    def _gather(self, step: AllGather) -> Pending:
        payload = as_bytes(step.array)
        counts = np.full(self.size, payload.size, np.int64)
        if step.uneven:
            lengths = MpiPending(
                self, step, self.comm.Iallgather(counts[:1].copy(), counts)
            )
            self._complete([lengths], self.deadline)
        gathered = np.empty(int(counts.sum()), np.uint8)
        receive = [gathered, counts.tolist(), self.MPI.BYTE]
        request = self.comm.Iallgatherv([payload, self.MPI.BYTE], receive)
        pending = MpiPending(self, step, request, payload)
        pending.gathered = (gathered, counts.tolist())
        return pending

    # Notes: a rank that has failed tells all others, which then fail, too, and answer.

    def _exchange(self, text: str) -> Pending:
        note = np.zeros(NOTE_BYTES, np.uint8)
        encoded = np.frombuffer(text.encode()[:NOTE_BYTES], np.uint8)
        note[: encoded.size] = encoded
        notes = np.empty((self.size, NOTE_BYTES), np.uint8)
        pending = MpiPending(self, None, self.control.Iallgather(note, notes), note)
        pending.texts = notes
        return pending

    def check_peers(self) -> None:
        """Raise a ConnectionError if another rank has failed."""
        if self._peer_died:
            raise PeerGone("a process has died")
        if self.control.Iprobe(self.MPI.ANY_SOURCE, NOTES):
            raise ConnectionError("another rank cannot go on")

    def _post(self, note: Note) -> None:
        for rank in range(self.size):
            if rank != self.rank:
                self.send_control(rank, note.to_json(), NOTES)

    def _new_notes(self) -> list[Note]:
        return [Note.from_json(text) for text in self.control_texts(NOTES)]

    def send_control(self, to: int, text: str, tag: int) -> None:
        """Begin to send a text beside all messages of programs."""
        memory = np.frombuffer(text.encode(), np.uint8).copy()
        request = self.control.Isend(memory, to, tag)
        self._sent_notes.append((request, memory))

    def control_texts(self, tag: int) -> list[str]:
        """The texts that have come."""
        texts = []
        status = self.MPI.Status()
        while self.control.Iprobe(self.MPI.ANY_SOURCE, tag, status):
            text = np.empty(status.Get_count(self.MPI.BYTE), np.uint8)
            self.control.Recv(text, status.Get_source(), tag)
            texts.append(text.tobytes().decode())
        return texts


class ControlMessages:
    """Forms of messages, told by messages of our own, which may come a little later than what they describe."""

    def __init__(self, transport: Mpi):
        self.transport = transport
        self.texts: dict[str, str] = {}

    def set(self, to: int, key: str, text: str) -> None:
        self.transport.send_control(to, f"{key} {text}", FORMS)

    def read(self, key: str) -> str | None:
        for told in self.transport.control_texts(FORMS):
            known_key, _, text = told.partition(" ")
            self.texts[known_key] = text
        return self.texts.get(key)


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
        self.texts: np.ndarray | None = None
        self.message = -1  # its number on the channel of a Recv
        self.status = transport.MPI.Status()
        self.complete = False

    def poll(self) -> bool:
        if not self.complete:
            try:
                self.complete = self.request.Test(self.status)
            except self.transport.MPI.Exception as error:
                raise self._refused(error) from error
        return self.complete

    def wait(self, seconds: float) -> bool:
        begin = last_look = time.perf_counter()
        while not self.poll():
            now = time.perf_counter()
            if now - begin > seconds:
                return False
            if now - begin > EAGER_SECONDS:
                time.sleep(PAUSE)
            elif now - begin > SELFISH_SECONDS:
                os.sched_yield()
            if now - last_look > LOOK_SECONDS:
                last_look = now
                self.transport.check_peers()
        return True

    def result(self) -> Any:
        step = self.step
        if self.texts is not None:
            return [row.tobytes().rstrip(b"\0").decode() for row in self.texts]
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
            raise self._other_length(step, received)
        if isinstance(step, Recv) and step.announced:
            return
        channel = self.status.Get_source(), step.tag
        forms = self.transport.forms
        forms.compare(channel, step.into)
        forms.check_number(channel, step.into, self.message)

    def _refused(self, error: Exception) -> Exception:
        """What MPI complains about; a message that is too long is the sender's and the receiver's affair."""
        if isinstance(self.step, Recv | RecvAny):
            return self._other_length(self.step)
        return Deep500Error(
            f"MPI refuses {type(self.step).__name__} on rank {self.transport.rank}: {one_line(error)}"
        )

    def _other_length(self, step: Recv | RecvAny, nbytes: int = 0) -> Deep500Error:
        """The error that names the form of the message, or its length (0: more than expected) if nobody tells it."""
        source = getattr(step, "source", self.status.Get_source())
        channel = source, step.tag
        forms = self.transport.forms
        sent = forms.of_size(channel, nbytes) if nbytes else "more"
        deadline = time.perf_counter() + TELLING_SECONDS
        while time.perf_counter() < deadline:
            told = forms.told(channel)
            if told is not None and told[1] != form_of(step.into):
                return other_form(self.transport.rank, step.into, channel, told[1])
            time.sleep(PAUSE)
        return other_form(self.transport.rank, step.into, channel, sent)

    def _arrays(self, gathered: np.ndarray, counts: list[int]) -> list[np.ndarray]:
        array = self.step.array
        arrays = split_gathered(gathered, counts, array.dtype)
        if self.step.uneven:
            return arrays
        return [part.reshape(array.shape) for part in arrays]
