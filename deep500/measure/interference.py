"""What other users of the machine did to a measurement, and whether that could explain its verdicts.

A block records `load`: the share of the CPUs that others used meanwhile, and how many CPUs each entry kept busy. A
single thread that finds no free CPU is stretched by a factor that its CPU time shows. For threads that wait for each
other there is no such limit: one that is not running holds up all of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import Refused
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
    """How one entry was exposed: its threads, whether they lacked CPUs, and by how much that may have stretched it."""

    name: str
    threads: int
    contended: bool
    stretch: float  # infinite where nothing bounds it


def interference(blocks: Sequence[Mapping[str, Any]]) -> Interference | None:
    """What the blocks say of others; None where they were recorded without."""
    shares: dict[int, list[float]] = {}
    for block in blocks:
        if "load" in block:
            shares.setdefault(block["process"], []).append(block["load"]["others"])
    if not shares:
        return None
    n = sum(map(len, shares.values()))
    cpus = next(block["load"]["cpus"] for block in blocks if "load" in block)
    series = list(shares.values())
    try:
        found = interval(series[0] if len(series) == 1 else series)
    except Refused:
        usual = float(np.median(np.concatenate(series)))
        return Interference(usual, None, None, n, cpus)
    low, high = (min(max(end, 0.0), 1.0) for end in (found.low, found.high))
    return Interference(min(max(found.estimate, low), high), low, high, n, cpus)


def exposure(
    found: Interference,
    blocks: Sequence[Mapping[str, Any]],
    entry: int,
    name: str,
    threads: int,
) -> Exposure:
    """How an entry was exposed that was allowed so many threads (1 where nobody told it).

    If CPUs stayed idle beside it, it had as many as it wanted: then what it used says how many threads ran.
    """
    loads = [block["load"] for block in blocks if "load" in block]
    used = [load["used"][entry] for load in loads if load.get("used")]
    usual = float(np.median(used)) if used else 1.0
    seen = max(math.ceil(usual - ROOM), 1)
    threads = seen if usual <= found.free_cpus - SPARE else max(threads, seen)
    if threads <= found.free_cpus + ROOM:
        return Exposure(name, threads, False, 1.0)
    if threads > 1 or usual <= 0:
        return Exposure(name, threads, True, math.inf)
    return Exposure(name, threads, True, max(1.0, 1 / usual))


def judged(
    c: Comparison,
    found: Interference,
    base: Exposure,
    other: Exposure,
    fewer_threads: str,
) -> Comparison:
    """The comparison; inconclusive if without others the ratio could lead to another verdict."""
    if not base.contended and not other.contended:
        return c
    low, high = c.low / other.stretch, c.high * base.stretch
    if verdict_of(low, high, c.margin) == c.verdict:
        return c
    crowded = base if verdict_of(low, c.high, c.margin) == c.verdict else other
    threads = f"{crowded.threads} threads" if crowded.threads > 1 else "a thread"
    lacking = f"{crowded.name!r} ran {threads}"
    advice = [fewer_threads] if crowded.threads > 1 else []
    advice += ["wait", "or give --wait-for-quiet SECONDS"]
    note = (
        f"others used {100 * found.others:.0f} % of the {found.cpus} CPUs, too much where {lacking}: "
        f"that {COULD_EXPLAIN}; {', '.join(advice)}"
    )
    return replace(c, verdict="inconclusive", notes=(*c.notes, note))


def is_load(load: object, entries: int) -> bool:
    """Whether a block's load has its form; the file may come from anyone."""
    if not isinstance(load, dict) or set(load) - {"others", "cpus", "used"}:
        return False
    cpus, used = load.get("cpus"), load.get("used")
    if (
        type(cpus) is not int
        or not 0 < cpus < 1_000_000
        or not _is_share(load.get("others"), 1.0)
    ):
        return False
    if used is None:
        return True
    return (
        isinstance(used, list)
        and len(used) == entries
        and all(_is_share(u, 1e6) for u in used)
    )


def _is_share(value: object, most: float) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= most  # type: ignore[operator]
