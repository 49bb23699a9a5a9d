"""What other users of the machine did to a measurement, and whether that could explain its verdicts.

A block records `load`: the share of the CPUs that others used meanwhile, and how many CPUs each entry kept busy. A
single thread that finds no free CPU is stretched by a factor that its CPU time shows. For threads that wait for each
other there is no such limit: one that is not running holds up all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import Refused
from .bench_blocks import TimedBlock
from .statistics.comparison import Comparison, verdict_of
from .statistics.intervals import interval

ROOM = 0.25  # CPUs that threads may lack: medians do not notice what disturbs few of the calls
SPARE = 0.5  # CPUs that stay idle beside an entry which does not use all the threads it was allowed
COULD_EXPLAIN = "could explain this ratio"


@dataclass(frozen=True)
class Interference:
    """The share of the CPUs that others used in the usual block, with its interval over `n` blocks."""

    others: float
    low: float | None
    high: float | None
    n: int
    cpus: int

    @property
    def free_cpus(self) -> float:
        return self.cpus * (1 - self.others)


@dataclass(frozen=True)
class Exposure:
    """How other processes may have slowed down one entry: its threads, if they lacked CPUs, and by which factor."""

    name: str
    threads: int
    contended: bool
    stretch: float  # infinite where nothing bounds it


def interference(blocks: Sequence[TimedBlock]) -> Interference | None:
    """What other processes used of the machine, from the load in the blocks; None if no block records it."""
    shares: dict[int, list[float]] = {}
    cpus = 0
    for block in blocks:
        if block.load is None:
            continue
        cpus = cpus or block.load.cpus
        process_shares = shares.setdefault(block.process, [])
        process_shares.append(block.load.others)
    if not shares:
        return None
    series = list(shares.values())
    n = sum(map(len, series))
    try:
        usual = interval(series[0] if len(series) == 1 else series)
    except Refused:
        median = float(np.median(np.concatenate(series)))
        return Interference(others=median, low=None, high=None, n=n, cpus=cpus)
    low = _share(usual.low)
    high = _share(usual.high)
    others = min(max(usual.estimate, low), high)
    return Interference(others=others, low=low, high=high, n=n, cpus=cpus)


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def exposure(
    load: Interference,
    blocks: Sequence[TimedBlock],
    entry: int,
    name: str,
    threads: int,
) -> Exposure:
    """How other processes may have slowed down an entry that was allowed so many threads (1 if nobody set it).

    If CPUs stayed idle beside it, it had as many as it wanted: then what it used says how many threads ran.
    """
    used = _cpus_used(blocks, entry)
    usual = float(np.median(used)) if used else 1.0
    seen = max(math.ceil(usual - ROOM), 1)
    if usual <= load.free_cpus - SPARE:
        threads = seen
    else:
        threads = max(threads, seen)
    if threads <= load.free_cpus + ROOM:
        return Exposure(name=name, threads=threads, contended=False, stretch=1.0)
    if threads > 1 or usual <= 0:
        return Exposure(name=name, threads=threads, contended=True, stretch=math.inf)
    stretch = max(1.0, 1 / usual)
    return Exposure(name=name, threads=threads, contended=True, stretch=stretch)


def _cpus_used(blocks: Sequence[TimedBlock], entry: int) -> list[float]:
    """The number of CPUs that an entry kept busy, for every block that records it."""
    loads = [block.load for block in blocks if block.load]
    return [load.used[entry] for load in loads if load.used]


def judged(
    c: Comparison,
    load: Interference,
    base: Exposure,
    other: Exposure,
    fewer_threads: str,
) -> Comparison:
    """The comparison, made inconclusive if the verdict could be another one without the other processes."""
    if not base.contended and not other.contended:
        return c
    low = c.low / other.stretch
    high = c.high * base.stretch
    if verdict_of(low, high, c.margin) == c.verdict:
        return c
    crowded = other
    if verdict_of(low, c.high, c.margin) == c.verdict:
        crowded = base
    advice = "wait, or give --wait-for-quiet SECONDS"
    threads = "a thread"
    if crowded.threads > 1:
        threads = f"{crowded.threads} threads"
        advice = f"{fewer_threads}, {advice}"
    percent = f"{100 * load.others:.0f} %"
    lacking = f"{crowded.name!r} ran {threads}"
    note = (
        f"others used {percent} of the {load.cpus} CPUs, too much where {lacking}: "
        f"that {COULD_EXPLAIN}; {advice}"
    )
    return replace(c, verdict="inconclusive", notes=(*c.notes, note))
