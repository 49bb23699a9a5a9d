"""What MPI and torch.distributed have in common: one rank's program, driven step by step against deadlines."""

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts.transport import (
    COLLECTIVES,
    DEADLINE,
    Arrival,
    Compute,
    Handle,
    JointFailure,
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
    modelled_bytes,
)
from ..errors import Deep500Error, Unsupported, errors_of_user_code, one_line
from ._blocking import described_step
from ._fingerprints import fingerprint
from ._forms import form_of
from ._notes import Note, failure
from ._places import no_step

EAGER_SECONDS = 1e-3  # for which a wait for any of several asks without a pause
PAUSE = 1e-4
LOOK_SECONDS = 0.1  # between two looks whether another rank has failed
# for how long a rank that cannot go on listens to the others: to all of them, or to those that see that one is gone
PATIENCE = 10.0
SHORT_PATIENCE = 3.0
SIMULTANEOUS_SECONDS = 0.5
LONGEST_ERROR = 2000
MOST_SENDS = 8  # that a rank which cannot go on tells of


class PeerGone(ConnectionError):
    """The engine says that a process has ended."""


class Pending:
    """A step that was begun. A subclass asks the engine about it."""

    step: Any
    number = -1  # of a collective

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
        # whether this rank reports it
        self.reports = True
        self.called: list[str] = []
        self._pending: dict[Handle, Pending] = {}
        self._awaited: Sequence[Pending] = ()  # of the last wait
        self._next_handle = 0
        self._steps = 0
        self._runs = 0
        # collectives that all ranks have called in this form before
        self._agreed: set[str] = set()

    def clock(self, rank: int) -> float:
        return time.perf_counter()

    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        if self.broken:
            raise Deep500Error("this rank has lost another one: start all ranks again")
        self._runs += 1
        self.called = []
        generator = program(self.rank)
        try:
            return {self.rank: self._carry_out(generator)}
        except Exception as error:
            self.fail(error)
            raise
        finally:
            generator.close()

    def _carry_out(self, generator: Program) -> Any:
        answer: Any = None
        while True:
            try:
                step = generator.send(answer)
            except StopIteration as stop:
                self._finish_sends()
                return stop.value
            self._steps += 1
            if not isinstance(step, STEPS):
                raise no_step(generator, step)
            answer = self._do(step)

    def fail(self, error: BaseException) -> None:
        """Tell the others, unless they know, that this rank ends with an error; nothing can be run afterwards."""
        if isinstance(error, JointFailure):
            self.reports = error.reported_by in (None, self.rank)
        if self.broken:
            return
        self.broken = True
        if isinstance(error, Exception) and not isinstance(error, JointFailure):
            own = Note(self.rank, error=_error_line(self.rank, error))
            self._post(own)
            self.reports = not self._lower_rank_fails()

    def _lower_rank_fails(self) -> bool:
        """Whether a lower rank ends with an error at the same time, as all do if the mistake is everyone's."""
        deadline = time.perf_counter() + SIMULTANEOUS_SECONDS
        while self.rank > 0 and time.perf_counter() < deadline:
            try:
                notes = self._new_notes()
            except ConnectionError:
                return False
            if any(note.error and note.rank < self.rank for note in notes):
                return True
            time.sleep(PAUSE)
        return False

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
        if array is not None and not isinstance(array, np.ndarray):
            self._check_on_device(array)
        elif array is not None and not array.flags.c_contiguous:
            raise Deep500Error(
                f"{type(step).__name__} needs an array whose elements lie in order in memory: copy it first"
            )
        other = getattr(step, "to", getattr(step, "source", None))
        if other is not None and (other == self.rank or not 0 <= other < self.size):
            raise Deep500Error(
                f"rank {self.rank} communicates with rank {other}: give another rank from 0 to "
                f"{self.size - 1}"
            )
        number = -1
        if isinstance(step, COLLECTIVES):
            number = len(self.called)
            self._call(step)
        try:
            pending = self._started(step)
        except ConnectionError as error:
            raise self._lost(step, number, error) from error
        pending.number = number
        self._next_handle += 1
        self._pending[self._next_handle] = pending
        return self._next_handle

    def _check_on_device(self, tensor: Any) -> None:
        """Raise `Unsupported` for a tensor on a device whose tensors this transport does not carry."""
        if not self.carries(str(tensor.device)):
            raise Unsupported(
                f"the transport {self.name} takes arrays in the host's memory, and this one is on {tensor.device}: "
                "copy it to NumPy first"
            )

    def _started(self, step: Any) -> Pending:
        traffic = self.traffic[self.rank]
        if isinstance(step, Send):
            traffic.count("Send", step.array.nbytes)
            return self._send(step)
        if isinstance(step, Recv | RecvAny):
            return self._receive(step)
        if isinstance(step, COLLECTIVES):
            nbytes = modelled_bytes(step, self.rank, self.size)
            traffic.count(type(step).__name__, nbytes)
            return self._collective(step)
        raise Deep500Error(
            f"{step!r:.80} is no communication that can be begun: yield it, or begin a send, a receive or a collective"
        )

    def _call(self, step: Any) -> None:
        """Note that a collective is called; the first time in this form, see that all ranks call it.

        Later, ranks that call different ones are found when they wait in vain, and by comparing `called`.
        """
        form = fingerprint(step)
        number = len(self.called)
        self.called.append(form)
        if form in self._agreed or self.size == 1:
            return
        note = self._waiting_note(step, number)
        try:
            exchange = self._exchange(note.to_json())
        except ConnectionError as error:
            raise self._lost(step, number, error) from error
        exchange.step, exchange.number = step, number
        self._complete([exchange], self.deadline)
        texts = enumerate(exchange.result())
        notes = {rank: Note.from_json(text) for rank, text in texts}
        if found := failure(notes, self.size):
            raise found
        self._agreed.add(form)

    @abstractmethod
    def _send(self, step: Send) -> Pending: ...

    @abstractmethod
    def _receive(self, step: Recv | RecvAny) -> Pending: ...

    @abstractmethod
    def _collective(self, step: Any) -> Pending: ...

    @abstractmethod
    def _exchange(self, text: str) -> Pending:
        """Begin to exchange texts with all ranks; the result is the list of them."""

    @abstractmethod
    def _post(self, note: Note) -> None:
        """Send a note to all other ranks, as far as they can be reached."""

    @abstractmethod
    def _new_notes(self) -> list[Note]:
        """The notes of other ranks that have come; raises ConnectionError if none can come any more."""

    # Waiting

    def _wait(self, step: Wait) -> list[Any]:
        pendings = [self._taken(handle) for handle in step.handles]
        self._complete(pendings, self._timeout(step))
        return [self._result(pending) for pending in pendings]

    def _complete(self, pendings: Sequence[Pending], timeout: float) -> None:
        """Wait for all of them, for at most so long; this counts as waiting."""
        begin = time.perf_counter()
        self._awaited = pendings
        for pending in pendings:
            left = begin + timeout - time.perf_counter()
            try:
                complete = pending.wait(max(0.0, left))
            except ConnectionError as error:
                raise self._lost(pending.step, pending.number, error) from error
            if not complete:
                raise self._late(pending, timeout)
        self.waited[self.rank] += time.perf_counter() - begin

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
                raise self._late(self._pending[step.handles[0]], timeout)
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
            raise self._lost(pending.step, pending.number, error) from error

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
        sends = []
        for handle, pending in [*self._pending.items()]:
            if isinstance(pending.step, Send):
                sends.append(self._taken(handle))
        if sends:
            self._complete(sends, self.deadline)

    # Failures

    def _late(self, pending: Pending, timeout: float) -> JointFailure:
        late = TimeoutError(f"it did not come within {timeout:g} s")
        return self._lost(pending.step, pending.number, late)

    def _lost(self, step: Any, number: int, cause: OSError) -> JointFailure:
        """Why a step cannot be completed, from the notes of all ranks; those that send none are lost."""
        self.broken = True
        own = replace(self._waiting_note(step, number), sends=self._unreceived())
        self._post(own)
        limit = SHORT_PATIENCE if isinstance(cause, PeerGone) else PATIENCE
        try:
            notes = self._notes(own, min(self.deadline, limit))
            missing = sorted({*range(self.size)} - notes.keys())
        except ConnectionError:
            # nobody can say, since the store is gone with rank 0
            notes, missing = {self.rank: own}, [0]
        found = failure(notes, self.size)
        if found is not None:
            return found
        waited = f"rank {self.rank} waited for {own.reason} in its communication step {self._steps} ({cause})"
        if not missing:
            return RankFailure(
                f"{waited}, and all ranks are there: give a longer deadline"
            )
        names = ", ".join(map(str, missing))
        lost = RankFailure(f"rank {names} is lost: {waited}", missing)
        lost.reported_by = min(notes)
        return lost

    def _waiting_note(self, step: Any, number: int) -> Note:
        sources: tuple[int, ...] = ()
        form = ""
        if isinstance(step, Recv | RecvAny):
            form = form_of(step.into)
        if isinstance(step, Recv):
            sources = (step.source,)
        elif isinstance(step, Send):
            sources = (step.to,)
        elif isinstance(step, RecvAny):
            sources = tuple(r for r in range(self.size) if r != self.rank)
        return Note(
            self.rank,
            reason=described_step(step, number),
            waits_for=sources,
            any_rank=isinstance(step, RecvAny),
            run=self._runs,
            collectives=len(self.called),
            number=number,
            fingerprint=fingerprint(step) if number >= 0 else "",
            form=form,
            tag=getattr(step, "tag", 0),
        )

    def _unreceived(self) -> tuple[tuple[int, int, str], ...]:
        """Where to, with which tag and in which form the first messages went that nobody has received yet."""
        pendings = [*self._awaited, *self._pending.values()]
        sends = []
        for pending in pendings:
            step = pending.step
            is_compared = isinstance(step, Send) and not step.announced
            if is_compared and not _is_received(pending):
                sends.append(pending)
        if sends:
            time.sleep(LOOK_SECONDS)  # an engine that has been asked may answer later
        unreceived = []
        for pending in sends[:MOST_SENDS]:
            if not _is_received(pending):
                step = pending.step
                unreceived.append((step.to, step.tag, form_of(step.array)))
        return tuple(unreceived)

    def _notes(self, own: Note, seconds: float) -> dict[int, Note]:
        """The notes of all ranks; without those that do not come in time, or after one with an error."""
        notes = {self.rank: own}
        deadline = time.perf_counter() + seconds
        while len(notes) < self.size and time.perf_counter() < deadline:
            for note in self._new_notes():
                notes[note.rank] = note
            if any(note.error for note in notes.values()):
                break
            time.sleep(PAUSE)
        return notes


# what a program may yield
STEPS = (
    Send,
    Recv,
    RecvAny,
    Wait,
    WaitAny,
    Poll,
    Compute,
    Overlap,
    Now,
    *COLLECTIVES,
)


def _is_received(pending: Pending) -> bool:
    """Whether a message that was sent has been received, as far as the engine can tell."""
    try:
        return pending.poll()
    except ConnectionError:
        return False


def _error_line(rank: int, error: Exception) -> str:
    """An error on one line, with the user's function that raised it."""
    try:
        with errors_of_user_code(f"rank {rank}"):
            raise error
    except Deep500Error as described:
        return one_line(described, LONGEST_ERROR)
    except Exception:
        return f"rank {rank}: {one_line(error, LONGEST_ERROR, kind=True)}"


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
