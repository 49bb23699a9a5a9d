"""What the bundle of a benchmark says against itself: plan, blocks, clocks and dates tell the same things twice.

Every check yields sentences with both numbers. docs/threat-model.md has the whole list.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from ...bundle.dates import Dates
from ...contracts.result import BlockT, DerivedT, Record
from ...errors import Deep500Error
from ...measure.bench_blocks import TimedBlock
from ...measure.bench_plan import BenchPlan
from ...measure.candidates import Statement
from ...measure.layout import draw_layout
from ...measure.machine import Environment
from ...measure.machine.host.own_source import package_hash
from ...measure.plan import Plan as MeasuringPlan
from ...measure.plan import PlanEntry
from ...measure.results import Result
from ...measure.running import (
    FEWEST_PROCESSES,
    FIRST_LOOK,
    FIRST_PROCESSES,
    LEAST_WORK_S,
    LOOK_GROWTH,
    PROCESSES_GROWTH,
)

# a plan that is one of a benchmark, whatever else it says
AnyBenchPlan = TypeVar("AnyBenchPlan", bound=BenchPlan)

SHORTEST_CALL_NS = 0.05  # no processor does one operation in less
SPAN_SLACK_S = 2e-4  # spans are rounded to a ten-thousandth of a second
CLOCK_SLACK_S = 2.0  # dates are written in whole seconds
CLOCK_SLACK = 1e-3  # clocks of the same machine drift by less


def bench_contradictions(
    record: Record[AnyBenchPlan, BlockT, DerivedT],
    blocks: Sequence[TimedBlock],
    dates: Dates,
) -> Iterator[str]:
    """Every contradiction of a benchmark; `blocks` are those of `record` that hold rounds."""
    plan = record.plan
    yield from processes(plan, blocks, finished=record.finished)
    yield from orders(plan, blocks)
    yield from layouts(plan, blocks)
    yield from clocks(plan, blocks)
    yield from spans(blocks, dates)
    yield from call_times(plan, blocks)
    if record.finished and blocks and _is_by_this_version(record):
        yield from stopping(plan, blocks)


def processes(
    plan: BenchPlan, blocks: Sequence[TimedBlock], finished: bool
) -> Iterator[str]:
    """Whether every process is there, in order, and as many as the plan asks for."""
    numbers = [block.process for block in blocks]
    present = list(dict.fromkeys(numbers))
    if present != list(range(len(present))) or numbers != sorted(numbers):
        last = len(present) - 1
        yield f"samples.jsonl: the processes are {_short(present)}, and so many are numbered 0 to {last}"
        return
    planned = plan.processes
    if finished and planned is not None and len(present) != planned:
        yield f"samples.jsonl: {len(present)} processes, and planned are {planned}"


def orders(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    """Whether the order of the visits is the one that the plan's seed draws."""
    drawn: dict[int, Iterator[list[int]]] = {}
    measuring = _measuring_plan(plan)
    for number, block in enumerate(blocks):
        process = block.process
        if process not in drawn:
            drawn[process] = measuring.orders(process)
        expected = list(itertools.islice(drawn[process], len(block.orders)))
        if block.orders == expected:
            continue
        pairs = zip(block.orders, expected, strict=True)
        order, other = next(pair for pair in pairs if pair[0] != pair[1])
        yield (
            f"samples.jsonl: block {number} visits {_short(order)}, and the seed {plan.seed} draws "
            f"{_short(other)} for process {process}"
        )
        return


def layouts(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    """Whether the layout of every process is the one that the plan's seed draws."""
    if plan.layout != "random":
        return
    for number, block in enumerate(blocks):
        process = block.process
        expected = draw_layout(plan.seed, process, len(plan.entries))
        if block.layout != expected.to_json():
            yield (
                f"samples.jsonl: the layout of block {number} is {_short(block.layout)}, and the seed "
                f"{plan.seed} draws {_short(expected.to_json())} for process {process}"
            )
            return


def clocks(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    """Whether the timed nanoseconds are the sum of the samples; several groups repeat visits that do not count."""
    groups = {entry.group for entry in plan.entries}
    for number, block in enumerate(blocks):
        if block.clocks is None:
            continue
        total = sum(map(sum, block.ns))
        timed = block.clocks.timed_ns
        if timed < total or (len(groups) == 1 and timed != total):
            yield f"samples.jsonl: block {number} says that {timed} ns were timed, and its samples add up to {total} ns"
            return


def spans(blocks: Sequence[TimedBlock], dates: Dates) -> Iterator[str]:
    """Whether the blocks follow each other, each as long as what it timed, within the dates of the bundle."""
    before = 0.0
    for number, block in enumerate(blocks):
        if block.span_s is None:
            return
        begin, end = block.span_s
        where = f"samples.jsonl: block {number}"
        if begin < before - SPAN_SLACK_S:
            yield f"{where} begins at {begin:g} s, and the one before ends at {before:g} s"
            return
        timed = sum(map(sum, block.ns)) / 1e9
        if timed > end - begin + SPAN_SLACK_S:
            yield f"{where} timed {timed:g} s within {end - begin:g} s"
            return
        before = end
    if dates.finished is None:
        return
    passed = dates.finished - dates.begun
    if before > passed * (1 + CLOCK_SLACK) + CLOCK_SLACK_S:
        yield f"samples.jsonl: it was measured for {before:g} s, and {passed:g} s passed until it was finished"


def call_times(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    """Whether no call was faster than one operation of any processor."""
    for number, block in enumerate(blocks):
        orders = np.concatenate(block.orders)
        calls = np.asarray(block.calls, float)[orders]
        times = np.concatenate(block.ns)
        places = np.flatnonzero(times < SHORTEST_CALL_NS * calls)
        if places.size:
            place = places[0]
            name = plan.entries[orders[place]].name
            yield (
                f"samples.jsonl: block {number}: {calls[place]:g} calls of {_short(name)!r} in {times[place]} ns; "
                f"no call takes less than {SHORTEST_CALL_NS} ns"
            )
            return


def stopping(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    """Whether the run went on after a look that had settled everything, where its rule ends it."""
    kinds = {entry.kind for entry in plan.entries}
    is_fresh = kinds <= {"statement", "function", "job"}
    several = blocks[-1].process > 0
    if several and plan.processes is None:
        yield from _after_processes(plan, blocks)
    elif not several and (not is_fresh or plan.processes == 1):
        yield from _after_rounds(plan, blocks)


def _after_processes(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    count = blocks[-1].process + 1
    look = FIRST_PROCESSES
    while look < count:
        if _is_settled(plan, [b for b in blocks if b.process < look]):
            yield f"samples.jsonl: everything was settled after {look} processes, and there are {count}"
            return
        look = math.ceil(look * PROCESSES_GROWTH)


def early_end(
    record: Record[AnyBenchPlan, BlockT, DerivedT], blocks: Sequence[TimedBlock]
) -> Iterator[str]:
    """A remark if a run of several processes ended with nothing settled and much time left."""
    plan = record.plan
    if not (record.finished and blocks and _is_by_this_version(record)):
        return
    count = blocks[-1].process + 1
    if count < FEWEST_PROCESSES or plan.processes is not None:
        return
    if any(block.span_s is None for block in blocks) or _is_settled(plan, blocks):
        return
    left = plan.budget_s - _spans(blocks)[-1][1]
    another = _longest_gap(blocks) + 2 * max(_process_s(blocks), LEAST_WORK_S)
    if left > another:
        yield (
            f"it ended after {count} processes with nothing settled, when {left:.2g} s of {plan.budget_s:g} s "
            f"were left, and one more process takes about {another:.2g} s"
        )


def _after_rounds(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> Iterator[str]:
    look = FIRST_LOOK
    rounds = 0
    for number, block in enumerate(blocks):
        rounds += len(block.orders)
        if rounds < look:
            continue
        is_last = number == len(blocks) - 1
        if not is_last and _is_settled(plan, blocks[: number + 1]):
            total = sum(len(block.orders) for block in blocks)
            yield f"samples.jsonl: everything was settled after {rounds} rounds, and there are {total}"
            return
        look = math.ceil(rounds * LOOK_GROWTH)


def _is_settled(plan: BenchPlan, blocks: Sequence[TimedBlock]) -> bool:
    return Result(plan, list(blocks)).settled


def _spans(blocks: Sequence[TimedBlock]) -> list[tuple[float, float]]:
    return [block.span_s for block in blocks if block.span_s]


def _longest_gap(blocks: Sequence[TimedBlock]) -> float:
    """The longest time between two blocks: what it took to start a process."""
    spans = _spans(blocks)
    ends = [0.0, *(end for _, end in spans)]
    begins = [begin for begin, _ in spans]
    gaps = [begin - end for end, begin in zip(ends, begins, strict=False)]
    return max(gaps, default=0.0)


def _process_s(blocks: Sequence[TimedBlock]) -> float:
    """The longest time that one process measured."""
    begins: dict[int, float] = {}
    longest = 0.0
    for block, (begin, end) in zip(blocks, _spans(blocks), strict=True):
        first = begins.setdefault(block.process, begin)
        longest = max(longest, end - first)
    return longest


def _is_by_this_version(record: Record[AnyBenchPlan, BlockT, DerivedT]) -> bool:
    """Whether this very source measured it: the looks of another version may settle at other times."""
    try:
        environment = Environment.from_json(record.environment)
    except Deep500Error:
        return False
    fact = environment.fact("benchmark input and software", "source of deep500")
    return fact.value == package_hash()


def _measuring_plan(plan: BenchPlan) -> MeasuringPlan:
    """The plan as the engine has it, as far as the order of visits needs it."""
    entries = []
    for entry in plan.entries:
        entries.append(PlanEntry(entry.name, Statement(""), {}, entry.group))
    return MeasuringPlan(tuple(entries), seed=plan.seed)


def _short(value: object) -> str:
    return str(value)[:80]
