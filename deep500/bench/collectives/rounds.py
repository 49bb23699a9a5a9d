"""All cases of a launch in turn, in a new random order in every round, on the rank of this process."""

import gc
import random
import time
import tracemalloc
from collections.abc import Sequence

import numpy as np

from ...contracts.transport import Transport, all_gather, all_reduce, broadcast
from ...errors import Deep500Error, one_line
from ...results.collectives.data import ALONE, ENGINE, TimedCase
from ..ranks import carried_out
from .documents import CaseOnRank
from .progress import OverlappedCall
from .starts import Start
from .subjects import CaseBuffers, OnRank, subject_of

VISIT_S = 2e-3  # for about so long a case is repeated before the next one
MOST_CALLS = 10  # in a visit
LEAST_ROUNDS = 3
MOST_ROUNDS = 200


class Rounds:
    """The cases on this rank, which all ranks measure together."""

    def __init__(
        self,
        transport: Transport,
        cases: Sequence[TimedCase],
        calls: int,
        seed: int,
    ):
        self.transport = transport
        [self.rank] = transport.ranks
        self.calls = calls
        self.order = random.Random(seed)
        self.rows = [CaseOnRank(case) for case in cases]
        self.subjects: dict[int, OnRank] = {}
        self.repeats: dict[int, int] = {}
        self._prepare(cases)

    def _prepare(self, cases: Sequence[TimedCase]) -> None:
        """Check every case; one that fails on any rank is left out on all."""
        buffers = CaseBuffers(self.rank)
        for number, case in enumerate(cases):
            row = self.rows[number]
            try:
                subject = subject_of(case, self.transport, buffers)
            except Deep500Error as error:
                # of the case and the number of ranks, and so the same on all of them
                row.failure = one_line(error)
                continue
            failures = self._texts(subject.check())
            row.failure = next(filter(None, failures), "")
            row.is_wrong = bool(row.failure)
            if not row.is_wrong:
                self.subjects[number] = subject
                self._weigh(row, subject)

    def _texts(self, text: str) -> list[str]:
        """What all ranks say."""
        encoded = np.frombuffer(text.encode(), np.uint8).copy()
        texts = carried_out(self.transport, all_gather(encoded, uneven=True))
        return [one.tobytes().decode() for one in texts]

    def _weigh(self, row: CaseOnRank, subject: OnRank) -> None:
        """The bytes that a call sends, and the memory that it allocates in Python; then how often to repeat it."""
        traffic = self.transport.traffic[self.rank]
        sent, modelled = traffic.sent_bytes, traffic.modelled_bytes
        subject.reset()
        tracemalloc.start()
        subject.run()
        _, row.memory = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        subject.after(calls=1)
        row.sent = traffic.sent_bytes - sent
        row.modelled = traffic.modelled_bytes > modelled

    def calibrate(self) -> None:
        """Agree on how often each case is called in a visit, and on how long a rank computes beside it."""
        alone: dict[int, float] = {}
        for number, subject in self.subjects.items():
            if isinstance(subject, OverlappedCall):
                subject.size_for(alone[subject.case.bytes])
            seconds = self._agreed_seconds(subject)
            case = subject.case
            if (case.algorithm, case.progress) == (ENGINE, ALONE):
                alone[case.bytes] = seconds
            often = int(VISIT_S / max(seconds, 1e-9))
            self.repeats[number] = min(max(often, 1), MOST_CALLS)

    def _agreed_seconds(self, subject: OnRank) -> float:
        """Of one call, on the slowest rank."""
        subject.reset()
        begin = time.perf_counter()
        subject.run()
        seconds = np.array([time.perf_counter() - begin])
        subject.after(calls=1)
        carried_out(self.transport, all_reduce(seconds, "max"))
        return float(seconds[0])

    def measure(self, start: Start, budget_s: float) -> None:
        """Rounds for as long as the budget lasts by rank 0's clock, and LEAST_ROUNDS of them."""
        began = time.monotonic()
        numbers = list(self.subjects)
        go_on = np.array([1])
        rounds = 0
        gc.collect()
        gc.disable()
        while go_on[0] and numbers:
            self.order.shuffle(numbers)
            for number in numbers:
                self._visit(number, start)
            rounds += 1
            is_early = time.monotonic() - began < budget_s
            go_on[0] = rounds < LEAST_ROUNDS or (is_early and rounds < MOST_ROUNDS)
            carried_out(self.transport, broadcast(go_on))
            gc.collect()
        gc.enable()

    def _visit(self, number: int, start: Start) -> None:
        subject, row = self.subjects[number], self.rows[number]
        for _ in range(self.repeats[number]):
            subject.reset()
            start.wait()
            begin = start.now()
            for _ in range(self.calls):
                subject.run()
            end = start.now()
            subject.after(self.calls)
            row.begin.append(begin)
            row.end.append(end)
