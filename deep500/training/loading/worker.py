"""A worker process of a loader: it reads batches into shared memory when it is asked to."""

import multiprocessing
import os
import select
import signal
import struct
import warnings
from collections.abc import Iterable
from contextlib import suppress

from ...contracts.dataset import Split
from ...errors import Deep500Error, one_line
from ...supervision.kernel import end_with_parent, keep_memory
from .ring import Ring

REQUEST = struct.Struct("=qqq")  # slot, examples, epoch
ANSWER = struct.Struct("=qq")  # slot, length of the error's text that follows
QUIT = -1  # instead of a slot
CLOSED = -1  # instead of a descriptor, whose number may be another one's by now
MOST_TEXT = 2000  # bytes: with the answer less than a pipe writes at once
PATIENCE_S = 1.0  # for a worker to end when it is told to


class Worker:
    """Starts as a copy of this process (fork), so that nothing of the data is pickled."""

    def __init__(self, number: int, split: Split, ring: Ring):
        self.name = f"worker {number}"
        self.split = split
        self.ring = ring
        self.request_reader, self.request_writer = os.pipe()
        self.answer_reader, self.answer_writer = os.pipe()
        self.asked = 0

    def start(self, others: Iterable["Worker"]) -> None:
        """`others` are all workers of the loader: the copy closes what is theirs."""
        process = multiprocessing.get_context("fork").Process(
            target=self._serve, args=(os.getpid(), [*others]), daemon=True
        )
        with warnings.catch_warnings():
            # JAX warns about any fork; a worker never uses it
            warnings.simplefilter("ignore")
            process.start()
        self.process = process
        os.close(self.request_reader)
        os.close(self.answer_writer)
        self.request_reader = self.answer_writer = CLOSED
        self.events = select.poll()
        self.events.register(self.answer_reader, select.POLLIN)
        self.events.register(process.sentinel, select.POLLIN)

    def ask(self, slot: int, count: int, epoch: int) -> None:
        with suppress(
            BrokenPipeError
        ):  # it has ended, which `answer` says when the turn comes
            os.write(self.request_writer, REQUEST.pack(slot, count, epoch))
        self.asked += 1

    def answer(self, timeout_s: float) -> int:
        """The slot of the next batch that is ready; a Deep500Error if there is none within the time."""
        ready = [descriptor for descriptor, _ in self.events.poll(timeout_s * 1000)]
        if not ready:
            raise Deep500Error(
                f"{self.name} of the loader (process {self.process.pid}) has not answered for "
                f"{timeout_s:g} s: the data are too slow or stuck; Loader(…, timeout_s=…) waits longer"
            )
        if self.answer_reader not in ready:
            raise self._ended()
        answer = os.read(self.answer_reader, ANSWER.size)
        if len(answer) < ANSWER.size:
            raise self._ended()
        self.asked -= 1
        slot, length = ANSWER.unpack(answer)
        if length:
            text = os.read(self.answer_reader, length).decode(errors="replace")
            raise ReadingFailed(slot, text)
        return slot

    def stop(self) -> None:
        """Tell the process to end, and end it if it does not."""
        with suppress(BrokenPipeError):
            os.write(self.request_writer, REQUEST.pack(QUIT, 0, 0))
        os.close(self.request_writer)
        self.process.join(PATIENCE_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join(PATIENCE_S)
        os.close(self.answer_reader)

    def _ended(self) -> Deep500Error:
        self.process.join(PATIENCE_S)
        code = self.process.exitcode
        reason = f"with exit code {code}"
        if code is not None and code < 0:
            reason = f"by {signal.Signals(-code).name}"
        return Deep500Error(
            f"{self.name} of the loader (process {self.process.pid}) was ended {reason}: its batches "
            "are lost; if the memory was too small, use fewer workers or smaller batches"
        )

    def _serve(self, parent: int, workers: Iterable["Worker"]) -> None:
        """In the worker's process: until nobody can ask any more."""
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C is for the parent, which ends us
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)  # not what the parent does then
        end_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            return
        for worker in workers:
            worker._close_other_ends(self)
        keep_memory()
        while request := os.read(self.request_reader, REQUEST.size):
            slot, count, epoch = REQUEST.unpack(request)
            if slot == QUIT:
                return
            text = self._read(slot, count, epoch)
            try:
                os.write(self.answer_writer, ANSWER.pack(slot, len(text)) + text)
            except BrokenPipeError:  # the parent is gone
                return

    def _close_other_ends(self, own: "Worker") -> None:
        """Close the ends of the pipes that the process of `own` does not use."""
        ends = [self.request_writer, self.answer_reader]
        if self is not own:
            ends += [self.request_reader, self.answer_writer]
        for end in ends:
            if end != CLOSED:
                os.close(end)

    def _read(self, slot: int, count: int, epoch: int) -> bytes:
        """Read a batch; the text of the error if there is one."""
        try:
            indices = self.ring.indices(slot, count)
            self.split.read(indices, epoch, self.ring.arrays(slot, count))
        except Deep500Error as error:
            return one_line(error, limit=MOST_TEXT // 4).encode()[:MOST_TEXT]
        except Exception as error:  # of a user's own data set
            text = f"{self.name} of the loader cannot read a batch: {one_line(error, kind=True)}"
            return text.encode()[:MOST_TEXT]
        return b""


class ReadingFailed(Exception):
    """A worker could not read a batch: the slot that is free again, and what it says."""

    def __init__(self, slot: int, text: str):
        super().__init__(text)
        self.slot = slot
