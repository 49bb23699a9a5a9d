"""What the simulations of coverage share: the rows that they print, with binomial intervals."""

import argparse
import json
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

Random = np.random.Generator


@dataclass(frozen=True)
class Row:
    """A share in percent with its 95 % binomial interval, the figure to reach, whether it is, and details."""

    group: str
    case: str
    percent: float
    low: float
    high: float
    target: str
    ok: bool
    details: dict[str, float] = field(default_factory=dict)


# What computes one row, with random numbers of its own, so that rows can be computed in any order.
Task = Callable[[], Row]


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % binomial interval of a share, in percent."""
    z2, share = 1.96**2, successes / trials
    reach = 1.96 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2))
    middle, scale = share + z2 / (2 * trials), 100 / (1 + z2 / trials)
    return max(0.0, (middle - reach) * scale), min(100.0, (middle + reach) * scale)


def line(row: Row, documented: Collection[tuple[str, str]] = ()) -> str:
    details = "  ".join(f"{name} {value:.2f}" for name, value in row.details.items())
    figure = f"{row.percent:5.1f} % [{row.low:5.1f}, {row.high:5.1f}]"
    verdict = "ok   "
    if not row.ok:
        verdict = "known" if (row.group, row.case) in documented else "MISS "
    return (
        f"{verdict} {row.group:17s} {row.case:32s} {figure}  {row.target:23s} {details}"
    )


_tasks: list[Task] = []  # of the table that is computed, which forked processes inherit


def _row(number: int) -> Row:
    return _tasks[number]()


def computed(tasks: Iterable[Task], jobs: int) -> Iterator[Row]:
    """The rows in order, by so many processes."""
    _tasks[:] = tasks
    if jobs == 1:
        yield from map(_row, range(len(_tasks)))
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(_row, range(len(_tasks)))


def run(
    table: Callable[..., Iterable[Task]],
    description: str | None,
    groups: Sequence[str] = (),
    documented: Collection[tuple[str, str]] = (),
) -> None:
    """Print every row of a table, which is a function of the number of replications, the seed and, maybe, a group.

    Regimes that are documented as not holding are marked as known.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    if groups:
        parser.add_argument("--only", choices=groups, default="")
    options = parser.parse_args()
    only = [options.only] if groups else []
    began = time.monotonic()
    tasks = table(options.replications, options.seed, *only)
    rows = computed(tasks, options.jobs)
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    missed = 0
    for row in rows:
        print(line(row, documented), flush=True)
        missed += not row.ok
    elapsed = time.monotonic() - began
    print(
        f"seed {options.seed}, {options.replications} replications, {len(_tasks)} rows, {missed} missed, "
        f"{elapsed:.0f} s with {options.jobs} processes"
    )
