"""A worker process of a loader, which reads batches into shared memory on request."""

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
from ...supervision.signals import ENDINGS, held_back
from .ring import SharedRing

REQUEST = struct.Struct("=qqq")  # slot, examples, epoch
ANSWER = struct.Struct("=qq")  # slot, length of the error message that follows
QUIT = -1  # in place of a slot
CLOSED = -1  # in place of a descriptor, whose number may have been reused
# bytes: together with the answer less than a pipe writes atomically
MOST_TEXT = 2000
PATIENCE_S = 1.0  # how long to wait for a worker to end


class LoaderWorker:
    """Forks this process, so that the data need not be pickled."""

    def __init__(self, number: int, split: Split, ring: SharedRing):
        self.name = f"worker {number}"
        self.split = split
        self.ring = ring
        self.request_reader, self.request_writer = os.pipe()
        self.answer_reader, self.answer_writer = os.pipe()
        self.asked = 0

    def start(self, others: Iterable["LoaderWorker"]) -> None:
        """Fork the process; it closes the pipes of `others`, which are all workers of the loader."""
        context = multiprocessing.get_context("fork")
        args = (os.getpid(), [*others])
        process = context.Process(target=self._serve, args=args, daemon=True)
        with warnings.catch_warnings(), held_back(ENDINGS):
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
        request = REQUEST.pack(slot, count, epoch)
        # a worker that has ended is reported by `answer`
        with suppress(BrokenPipeError):
            os.write(self.request_writer, request)
        self.asked += 1

    def answer(self, timeout_s: float) -> int:
        """The slot of the next batch that is ready; raises a Deep500Error if there is none within the time."""
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
        """Ask the process to end, and kill it if it does not."""
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

    def _serve(self, parent: int, workers: Iterable["LoaderWorker"]) -> None:
        """Serve requests in the worker's process, until the pipe is closed."""
        # Ctrl-C is for the parent, which ends us
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                # not what the parent does then
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)
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
            error_text = self._read(slot, count, epoch)
            answer = ANSWER.pack(slot, len(error_text)) + error_text
            try:
                os.write(self.answer_writer, answer)
            except BrokenPipeError:  # the parent is gone
                return

    def _close_other_ends(self, serving: "LoaderWorker") -> None:
        """Close the ends of this worker's pipes that the process of the worker `serving` does not use."""
        ends = [self.request_writer, self.answer_reader]
        if self is not serving:
            ends += [self.request_reader, self.answer_writer]
        for end in ends:
            if end != CLOSED:
                os.close(end)

    def _read(self, slot: int, count: int, epoch: int) -> bytes:
        """Read a batch; return the error message, which is empty if there was no error."""
        try:
            indices = self.ring.indices(slot, count)
            arrays = self.ring.arrays(slot, count)
            self.split.read(indices, epoch, arrays)
        except Deep500Error as error:
            text = one_line(error, limit=MOST_TEXT // 4)
            return text.encode()[:MOST_TEXT]
        except Exception as error:  # in a user's data set
            cause = one_line(error, kind=True)
            text = f"{self.name} of the loader cannot read a batch: {cause}"
            return text.encode()[:MOST_TEXT]
        return b""


class ReadingFailed(Exception):
    """Raised if a worker could not read a batch; has the slot, which is free again, and the worker's message."""

    def __init__(self, slot: int, text: str):
        super().__init__(text)
        self.slot = slot
