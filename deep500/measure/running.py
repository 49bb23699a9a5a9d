"""Run a plan: fresh processes, interleaved rounds, and an end when the intervals are narrow or the time is up."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

import numpy as np

from .. import bundle
from ..errors import Wrong
from .candidates import resolve
from .clock import Clock, calibrate
from .commands import CommandSession
from .fresh import FreshSession
from .gathered import GatheredSession
from .machine import environment
from .plan import Plan, Settings, make_plan
from .results import Result
from .samples import ProcessSamples
from .sensing import sensors
from .sensing.others import Others
from .session import Session, Visits
from .statistics.repetition import best_rounds

BLOCK_S = 0.1  # between blocks, samples are written and progress is shown; nothing of that while the clock runs
FIRST_LOOK, LOOK_GROWTH = (
    50,
    1.5,
)  # rounds in one process; every look costs a little coverage, so they are few
FIRST_PROCESSES, PROCESSES_GROWTH = 6, 1.25  # the same for looks after whole processes
GUESSED_PROCESSES = 10  # share the budget at first; later Kalibera and Jones decide
FEWEST_PROCESSES = 3  # an interval over processes needs as many
MOST_ROUNDS = (
    1000  # per process: beyond, only the differences between processes are left
)
MOST_ROUNDS_ALONE = 20_000
PROCESS_S = 0.5  # of measuring is enough for a process, unless its start is dear
LEAST_WORK_S = 0.2  # a process that measures for less is not worth its start

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
    plan: Plan, folder: str | Path | None = None, progress: Progress | None = None
) -> Result:
    """Run a plan that was made before."""
    clock = calibrate()
    result = Result(
        plan.to_json() | {"clock": asdict(clock)}, [], environment().to_json()
    )
    if folder is None:
        measure_plan(plan, clock, result.plan, result.blocks.append, progress)
        return result
    writer = bundle.create(folder, result.documents())

    def record(block: dict) -> None:
        writer.append(block)
        result.blocks.append(block)

    try:
        readings = measure_plan(plan, clock, result.plan, record, progress)
        result.manifest = writer.finish(
            {"derived.json": result.derived, "sensors.json": readings}
        )
    except BaseException as error:
        if not result.blocks or isinstance(error, Wrong):
            writer.discard()  # nothing was measured, or nothing that means anything: leave nothing behind
        else:
            writer.close()
        raise
    return result


def measure_plan(
    plan: Plan,
    clock: Clock,
    document: Mapping,
    record: Callable[[dict], None],
    progress: Progress | None = None,
) -> dict[str, dict]:
    """Measure until the plan is fulfilled, hand every block to `record`, and return what the sensors read.

    `document` is the plan as it is written down, which the looks at the data need.
    """
    running = _Run(plan, clock, document, record, progress)
    with sensors() as sensing:
        running.go()
    return {name: asdict(reading) for name, reading in sensing.readings().items()}


class _Run:
    """The state of a run between its blocks."""

    def __init__(
        self,
        plan: Plan,
        clock: Clock,
        document: Mapping,
        record: Callable[[dict], None],
        progress: Progress | None,
    ):
        self.plan, self.clock, self.document, self.record = (
            plan,
            clock,
            document,
            record,
        )
        self.blocks: list[dict] = []
        self.progress = progress or (lambda fraction, text: None)
        self.began = time.monotonic()
        self.deadline = self.began + plan.budget_s
        self.calls: list[int] = []
        self.alone = not plan.fresh or plan.processes == 1
        self.others = Others()
        self.share_s, self.most_rounds = math.inf, MOST_ROUNDS_ALONE
        self.starts: list[float] = []
        self.arranged: dict[int, ProcessSamples] = {}
        self.round_s = 0.0

    @property
    def start_s(self) -> float:
        """What a process costs before its first sample."""
        return sorted(self.starts)[len(self.starts) // 2]

    def go(self) -> None:
        next_look = FIRST_PROCESSES
        for process in itertools.count():
            self._process(process)
            done = process + 1
            if (
                self.alone
                or done == self.plan.processes
                or self.blocks[-1]["process"] != process
            ):
                return
            if self.plan.processes is None and done >= FEWEST_PROCESSES:
                if (
                    time.monotonic() + self.start_s + min(self.share_s, LEAST_WORK_S)
                    > self.deadline
                ):
                    return
                if done >= next_look:
                    if self._settled():
                        return
                    next_look = math.ceil(done * PROCESSES_GROWTH)
                self._rebalance()

    def _process(self, process: int) -> None:
        began = time.monotonic()
        self.others.start()
        with self._session(process) as session:
            calls = session.calibrate()
            self.calls = self.calls or calls
            self.starts.append(time.monotonic() - began)
            if process == 0:
                self._share()
            self._rounds(session, process)
            session.finish()

    def _rounds(self, session: AnySession, process: int) -> None:
        owed = (
            0 if self.alone else max(0, FEWEST_PROCESSES - 1 - process) * self.start_s
        )  # for those still to come
        until = min(self.deadline - owed, time.monotonic() + self.share_s)
        if process >= FEWEST_PROCESSES and self.plan.processes is None:
            usual = sum(len(b["orders"]) for b in self.blocks) / process
            if time.monotonic() + usual / 2 * self.round_s > self.deadline:
                return  # what little it could measure would count as much as a whole process
        orders, done, size, next_look = self.plan.orders(process), 0, 1, FIRST_LOOK
        while done < self.most_rounds and (
            not done or time.monotonic() + size * self.round_s / 2 < until
        ):
            began = time.monotonic()
            rounds = list(itertools.islice(orders, size))
            visits = session.block(self.calls, rounds)
            others = self.others.share()
            ended = time.monotonic()
            self.round_s = (ended - began) / size
            block = {
                "process": process,
                "calls": self.calls,
                "orders": rounds,
                "ns": visits.ns,
            }
            block["span_s"] = [round(t - self.began, 4) for t in (began, ended)]
            if isinstance(session, FreshSession | GatheredSession):
                block["clocks"] = session.take_clocks().to_json()
            if self.plan.fresh:
                block["layout"] = self.plan.layout(process).to_json()
            if others is not None:
                self.others.start()
                block["load"] = self._load(others, rounds, visits)
            self._emit(block)
            done += size
            if self.alone and done >= next_look:
                # One process where several were wanted is never precise enough: it has the whole budget.
                if (
                    not self.plan.fresh or self.plan.processes == 1
                ) and self._settled():
                    return
                next_look = math.ceil(done * LOOK_GROWTH)
            size = max(
                1,
                min(
                    int(BLOCK_S / self.round_s),
                    (next_look if self.alone else self.most_rounds) - done,
                ),
            )

    def _load(self, others: float, orders: list[list[int]], visits: Visits) -> dict:
        """What others used meanwhile, and how many CPUs each entry kept busy in its usual visit."""
        load: dict = {"others": round(others, 4), "cpus": self.others.cpus}
        if self.plan.cache == "cold" or self.plan.sync:
            return load  # emptying caches and waiting for devices use CPUs, too
        order = np.concatenate(orders)
        used = np.concatenate(visits.cpu_ns) / np.maximum(np.concatenate(visits.ns), 1)
        medians = [
            np.median(used[order == entry]) for entry in range(len(self.plan.entries))
        ]
        return load | {"used": [round(float(median), 3) for median in medians]}

    def _share(self) -> None:
        """Divide the budget, now that the price of a process is known."""
        budget = self.plan.budget_s
        if self.alone:
            return
        processes = self.plan.processes or min(
            GUESSED_PROCESSES, int(budget / (3 * self.start_s))
        )
        if processes < FEWEST_PROCESSES and self.plan.processes is None:
            affordable = FEWEST_PROCESSES * (self.start_s + LEAST_WORK_S) <= budget
            processes = FEWEST_PROCESSES if affordable else 1
        self.alone = processes == 1
        if not self.alone:
            self.share_s, self.most_rounds = (
                max(0.0, budget / processes - self.start_s),
                MOST_ROUNDS,
            )
            if (
                self.plan.processes is None
            ):  # rather more processes than longer ones, and sooner a first look
                self.share_s = min(self.share_s, max(PROCESS_S, 3 * self.start_s))

    def _rebalance(self) -> None:
        """Let the variances seen so far say how long a process should be."""
        found = self._look().processes
        pair = self.plan.pairs[0] if self.plan.pairs else (0,)
        series = [
            np.log(p.rounds[pair[-1]]) - (np.log(p.rounds[0]) if len(pair) > 1 else 0.0)
            for p in found
        ]
        best = best_rounds(series, self.round_s, self.start_s)
        if best:
            self.most_rounds = min(MOST_ROUNDS, max(FIRST_LOOK, best))

    def _settled(self) -> bool:
        return self._look().settled

    def _look(self) -> Result:
        """The result so far; when processes are what is looked at, all of them have ended and are kept arranged."""
        result = Result(self.document, self.blocks, arranged=self.arranged)
        if not self.alone:
            self.arranged = result.arrange()
        return result

    def _emit(self, block: dict) -> None:
        self.blocks.append(block)
        self.record(block)
        spent = (time.monotonic() - self.began) / self.plan.budget_s
        rounds = sum(len(b["orders"]) for b in self.blocks)
        self.progress(
            min(1.0, spent), f"{block['process'] + 1} processes, {rounds} rounds"
        )

    @contextmanager
    def _session(self, process: int) -> Iterator[AnySession]:
        if self.plan.local:
            sync = (
                resolve(self.plan.sync)
                if isinstance(self.plan.sync, str)
                else self.plan.sync
            )
            yield Session(
                self.plan.entries, self.clock, sync, self.plan.cache == "cold"
            )
            return
        session = self._supervised(process)
        try:
            yield session
        except BaseException:
            session.kill()
            raise
        session.close()

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
        """The budget is for commands: the process that runs them starts before it begins."""
        began = time.monotonic()
        session = CommandSession(self.plan.entries, self.plan.cache == "cold")
        self.deadline += time.monotonic() - began
        return session
