"""Run a plan: fresh processes, interleaved rounds, and an end when the intervals are narrow or the time is up."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from .. import bundle
from ..errors import Wrong
from ..schema import encoded
from .bench_blocks import TimedBlock
from .bench_plan import BenchPlan, check_plan
from .candidates import resolve
from .clock import Clock, calibrate
from .commands import CommandSession
from .device_agreement import check_clocks_agree
from .device_conditions import DeviceWatch
from .fresh import FreshSession
from .gathered import GatheredSession
from .load import Load
from .machine import environment
from .plan import Plan, Settings, make_plan
from .results import Result
from .samples import ProcessSamples
from .sensing import sensors
from .sensing.others import Others
from .session import Preparation, Session, Visits
from .statistics.repetition import best_rounds

# Between blocks, samples are written and progress is shown; nothing of that while the clock runs.
BLOCK_S = 0.1
# Rounds in one process; every look costs a little coverage, so they are few.
FIRST_LOOK, LOOK_GROWTH = 50, 1.5
# the same for looks after whole processes
FIRST_PROCESSES, PROCESSES_GROWTH = 6, 1.25
# share the budget at first; later Kalibera and Jones decide
GUESSED_PROCESSES = 10
FEWEST_PROCESSES = 3  # an interval over processes needs as many
# Per process: beyond, only the differences between processes are left.
MOST_ROUNDS = 1000
MOST_ROUNDS_ALONE = 20_000
# measuring this long is enough for a process, unless its start takes long
PROCESS_S = 0.5
LEAST_WORK_S = 0.2  # a process that measures for less is not worth its start
# Of the budget: for finding out how many untimed visits each entry needs.
PREPARING = 0.1
# Of the margin: by how much a neighbour may change a time, so that untimed visits are enough.
TOLERATED = 0.5
# Of the time of the rounds: for visits of each entry in a row, without the others between them.
ALONE = 0.05
SHORTEST_ROW, LONGEST_ROW = 4, 200  # visits

Progress = Callable[[float, str], None]
AnySession = Session | CommandSession | FreshSession | GatheredSession


def run(
    candidates: Mapping[str, object],
    *,
    folder: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[Settings],
) -> Result:
    """Measure the candidates side by side; with a folder, every block is on disk before the next one starts.

    A candidate is a callable (measured in this process), a statement or "module:name" (measured in fresh
    processes), or a measure.Command. Settings and their meaning: measure.Settings.
    """
    return execute(make_plan(candidates, **settings), folder, progress)


def execute(
    plan: Plan,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run a plan; with a folder, write the result there as a bundle."""
    clock = calibrate()
    written = check_plan(plan.to_json() | {"clock": asdict(clock)})
    result = Result(written, [], environment().to_json())
    if folder is None:
        measure_plan(plan, clock, written, result.blocks.append, progress)
        return result
    writer = bundle.create(folder, result.documents())

    def record(block: TimedBlock) -> None:
        writer.append(encoded(block))
        result.blocks.append(block)

    try:
        readings = measure_plan(plan, clock, written, record, progress)
        result.manifest = writer.finish(
            {
                "derived.json": encoded(result.derived),
                "sensors.json": readings,
            }
        )
    except BaseException as error:
        if not result.blocks or isinstance(error, Wrong):
            writer.discard()  # nothing was measured, or nothing that means anything: leave nothing behind
        else:
            writer.close()
        raise
    return result


@dataclass(frozen=True)
class EarlierProcess:
    """A block of another process on this machine that measured the same plan, and when (monotonic) its run began."""

    block: TimedBlock
    began_s: float


def measure_plan(
    plan: Plan,
    clock: Clock,
    document: BenchPlan,
    record: Callable[[TimedBlock], None],
    progress: Progress | None = None,
    earlier: EarlierProcess | None = None,
) -> dict[str, dict]:
    """Measure until the plan is fulfilled, hand every block to `record`, and return what the sensors read.

    `document` is the plan as it is written down, which the looks at the data need. A local plan goes on where an
    `earlier` process has ended: with as many calls in a timed interval, as the next process.
    """
    running = _MeasuringRun(plan, clock, document, record, progress)
    if earlier:
        running.go_on(earlier)
    with sensors() as sensing:
        running.go()
    readings = sensing.readings().items()
    return {name: asdict(reading) for name, reading in readings}


class _MeasuringRun:
    """The state of a run between its blocks."""

    def __init__(
        self,
        plan: Plan,
        clock: Clock,
        document: BenchPlan,
        record: Callable[[TimedBlock], None],
        progress: Progress | None,
    ):
        self.plan = plan
        self.clock = clock
        self.document = document
        self.record = record
        self.blocks: list[TimedBlock] = []
        self.progress = progress or (lambda fraction, text: None)
        self.began = time.monotonic()
        self.deadline = self.began + plan.budget_s
        self.names = [entry.name for entry in plan.entries]
        self.first_process = 0
        self.calls: list[int] = []
        self.prepared: Preparation | None = None
        self.alone_s = 0.0  # that may be spent on visits in a row
        self.alone = not plan.fresh or plan.processes == 1
        self.others = Others()
        self.watch = DeviceWatch(plan.groups)
        self.share_s = math.inf
        self.most_rounds = MOST_ROUNDS_ALONE
        self.starts: list[float] = []
        self.arranged: dict[int, ProcessSamples] = {}
        self.round_s = 0.0

    @property
    def start_s(self) -> float:
        """The median time that a process takes before its first sample."""
        middle = len(self.starts) // 2
        return sorted(self.starts)[middle]

    def go_on(self, earlier: EarlierProcess) -> None:
        """Be the next process of the run that another one began."""
        block = earlier.block
        nothing_untimed = [0] * len(self.plan.entries)
        self.first_process = block.process + 1
        self.calls = list(block.calls)
        self.prepared = Preparation(list(block.untimed or nothing_untimed), [])
        self.began = earlier.began_s

    def go(self) -> None:
        next_look = FIRST_PROCESSES
        for process in itertools.count(self.first_process):
            self._process(process)
            count = process + 1
            if self.alone or count == self.plan.processes:
                return
            if self.blocks[-1].process != process:
                return  # there was no time for a round
            if self.plan.processes is not None or count < FEWEST_PROCESSES:
                continue
            next_s = self.start_s + min(self.share_s, LEAST_WORK_S)
            if time.monotonic() + next_s > self.deadline:
                return
            if count >= next_look:
                if self._settled():
                    return
                next_look = math.ceil(count * PROCESSES_GROWTH)
            self._rebalance()

    def _process(self, process: int) -> None:
        began = time.monotonic()
        self.others.start()
        with self._session(process) as session:
            calls = session.calibrate(watched=self.prepared is None)
            self.calls = self.calls or calls
            self.starts.append(time.monotonic() - began)
            if self.prepared is None:
                tolerance = TOLERATED * self.plan.margin
                seconds = PREPARING * self.plan.budget_s
                self.prepared = session.prepare(self.calls, tolerance, seconds)
                self._share()
            self._rounds(session, process)
            check_clocks_agree(self.names, self.blocks)
            session.finish()

    def _rounds(self, session: AnySession, process: int) -> None:
        until = self._end_of_rounds(process)
        if self._is_too_late(process):
            return
        orders = self.plan.orders(process)
        count = 0
        size = 1
        next_look = FIRST_LOOK
        while count < self.most_rounds:
            half_block_s = size * self.round_s / 2
            if count and time.monotonic() + half_block_s >= until:
                return
            self._block(session, process, orders, size)
            count += size
            if self.alone and count >= next_look:
                # One process where several were wanted is never precise enough: it has the whole budget.
                one_is_enough = not self.plan.fresh or self.plan.processes == 1
                if one_is_enough and self._settled():
                    return
                next_look = math.ceil(count * LOOK_GROWTH)
            limit = next_look if self.alone else self.most_rounds
            rounds_per_block = int(BLOCK_S / self.round_s)
            size = max(1, min(rounds_per_block, limit - count))

    def _end_of_rounds(self, process: int) -> float:
        """When this process must stop, so that those still to come can start before the deadline."""
        starts_to_come_s = 0.0
        if not self.alone:
            to_come = max(0, FEWEST_PROCESSES - 1 - process)
            starts_to_come_s = to_come * self.start_s
        deadline = self.deadline - starts_to_come_s
        return min(deadline, time.monotonic() + self.share_s)

    def _is_too_late(self, process: int) -> bool:
        """Whether the little that a process could still measure would count as much as a whole process."""
        if process < FEWEST_PROCESSES or self.plan.processes is not None:
            return False
        usual_rounds = self._count_rounds() / process
        half_s = usual_rounds / 2 * self.round_s
        return time.monotonic() + half_s > self.deadline

    def _count_rounds(self) -> int:
        return sum(len(block.orders) for block in self.blocks)

    def _block(
        self,
        session: AnySession,
        process: int,
        orders: Iterator[list[int]],
        size: int,
    ) -> None:
        """Time that many rounds and record them."""
        assert self.prepared is not None  # before the first round
        untimed = self.prepared.untimed
        began = time.monotonic()
        rounds = list(itertools.islice(orders, size))
        visits = session.block(self.calls, rounds, untimed)
        others = self.others.share()
        ended = time.monotonic()
        self.round_s = (ended - began) / size
        clocks = None
        if isinstance(session, FreshSession | GatheredSession):
            clocks = session.take_clocks()
        self.alone_s += ALONE * (ended - began)
        alone = self._rows(session, rounds, visits)
        layout = None
        if self.plan.fresh:
            layout = self.plan.layout(process).to_json()
        load = None
        if others is not None:
            self.others.start()
            load = self._load(others, rounds, visits)
        block = TimedBlock(
            process=process,
            calls=self.calls,
            untimed=untimed,
            orders=rounds,
            ns=visits.ns,
            device_ns=visits.device_ns or None,
            span_s=(round(began - self.began, 4), round(ended - self.began, 4)),
            clocks=clocks,
            after=None if self.blocks else self.prepared.after or None,
            alone=alone,
            layout=layout,
            load=load,
            devices=self.watch.block(),
        )
        self._emit(block)

    def _rows(
        self,
        session: AnySession,
        orders: list[list[int]],
        beside: Visits,
    ) -> list[list[int]] | None:
        """Visits of each entry in a row, as if it were alone; None if there is no time for them in this block.

        An entry whose visits are too long for a row gets an empty one. The first half of a row is its warm-up.
        """
        count = len(self.plan.entries)
        if count == 1:
            return None
        share_s = self.alone_s / count
        rows = []
        assert self.prepared is not None  # before the first round
        for entry, visit_s in enumerate(self._visit_s(orders, beside)):
            length = min(int(share_s / visit_s), LONGEST_ROW)
            shortest = max(SHORTEST_ROW, 2 * self.prepared.untimed[entry])
            if length >= shortest:
                rows.append([entry] * length)
        if not rows:
            return None
        began = time.monotonic()
        # one row per message: the others' turn would come between them
        visits = session.block(self.calls, rows)
        if isinstance(session, FreshSession | GatheredSession):
            session.take_clocks()  # these are not rounds
        self.alone_s -= time.monotonic() - began
        alone: list[list[int]] = [[] for _ in range(count)]
        for row, times in zip(rows, visits.ns, strict=True):
            alone[row[0]] = times
        return alone

    def _visit_s(self, orders: list[list[int]], beside: Visits) -> list[float]:
        """What a visit of each entry takes, with the emptying of caches."""
        order = np.concatenate(orders)
        ns = np.concatenate(beside.ns)
        timed_s = []
        for entry in range(len(self.plan.entries)):
            median_ns = float(np.median(ns[order == entry]))
            timed_s.append(median_ns / 1e9)
        if self.plan.cache != "cold" and not self.plan.sync:
            return [max(timed, 1e-7) for timed in timed_s]
        per_round = len(order) / len(orders)
        explained_s = sum(timed_s) * per_round / len(timed_s)
        rest_s = max(0.0, self.round_s - explained_s) / per_round
        return [timed + max(rest_s, 1e-7) for timed in timed_s]

    def _load(self, others: float, orders: list[list[int]], visits: Visits) -> Load:
        """The share of the CPUs that others used, and the median number of CPUs that each entry kept busy."""
        load = Load(round(others, 4), self.others.cpus)
        if self.plan.cache == "cold" or self.plan.sync:
            return load  # emptying caches and waiting for devices use CPUs, too
        order = np.concatenate(orders)
        elapsed_ns = np.maximum(np.concatenate(visits.ns), 1)
        cpus = np.concatenate(visits.cpu_ns) / elapsed_ns
        used = []
        for entry in range(len(self.plan.entries)):
            median = np.median(cpus[order == entry])
            used.append(round(float(median), 3))
        return replace(load, used=used)

    def _share(self) -> None:
        """Divide the budget among processes, now that the time to start one is known."""
        budget = self.plan.budget_s
        if self.alone:
            return
        processes = self.plan.processes or self._affordable_processes()
        self.alone = processes == 1
        if self.alone:
            return
        self.share_s = max(0.0, budget / processes - self.start_s)
        self.most_rounds = MOST_ROUNDS
        if self.plan.processes is None:
            # rather more processes than longer ones, and sooner a first look
            enough_s = max(PROCESS_S, 3 * self.start_s)
            self.share_s = min(self.share_s, enough_s)

    def _affordable_processes(self) -> int:
        budget = self.plan.budget_s
        affordable = int(budget / (3 * self.start_s))
        if affordable >= FEWEST_PROCESSES:
            return min(GUESSED_PROCESSES, affordable)
        fewest_s = FEWEST_PROCESSES * (self.start_s + LEAST_WORK_S)
        return FEWEST_PROCESSES if fewest_s <= budget else 1

    def _rebalance(self) -> None:
        """Choose the number of rounds per process from the variances seen so far."""
        processes = self._look().processes
        series = [np.log(process.rounds[0]) for process in processes]
        if self.plan.pairs:
            other = self.plan.pairs[0][1]
            logs = [np.log(process.rounds[other]) for process in processes]
            series = list(map(np.subtract, logs, series))
        best = best_rounds(series, self.round_s, self.start_s)
        if best:
            self.most_rounds = min(MOST_ROUNDS, max(FIRST_LOOK, best))

    def _settled(self) -> bool:
        return self._look().settled

    def _look(self) -> Result:
        """The result so far; the arranged samples of ended processes are cached for the next look."""
        result = Result(self.document, self.blocks, arranged=self.arranged)
        if not self.alone:
            self.arranged = result.arrange()
        return result

    def _emit(self, block: TimedBlock) -> None:
        self.blocks.append(block)
        self.record(block)
        elapsed_s = time.monotonic() - self.began
        spent = elapsed_s / self.plan.budget_s
        rounds = self._count_rounds()
        processes = block.process + 1
        text = f"{processes} processes, {rounds} rounds"
        self.progress(min(1.0, spent), text)

    @contextmanager
    def _session(self, process: int) -> Iterator[AnySession]:
        if self.plan.local:
            yield self._local_session()
            return
        session = self._supervised(process)
        try:
            yield session
        except BaseException:
            session.kill()
            raise
        session.close()

    def _local_session(self) -> Session:
        sync = self.plan.sync
        if isinstance(sync, str):
            sync = resolve(sync)
        cold = self.plan.cache == "cold"
        return Session(self.plan.entries, self.clock, sync, cold)

    def _supervised(
        self, process: int
    ) -> CommandSession | FreshSession | GatheredSession:
        if not self.plan.fresh:
            return self._command_session()
        layout = self.plan.layout(process)
        if len(self.plan.groups) > 1:
            return GatheredSession(self.plan, self.clock, layout)
        return FreshSession(self.plan, self.clock, layout)

    def _command_session(self) -> CommandSession:
        """A session of commands; starting the process that runs them does not count against the budget."""
        began = time.monotonic()
        cold = self.plan.cache == "cold"
        session = CommandSession(self.plan.entries, cold)
        self.deadline += time.monotonic() - began
        return session
