"""Does the verdict on a pair depend on a third candidate that runs beside it?

    python benchmarks/neighbours.py [--seconds 5] [--trials 1] [--kinds compute,L1,...] [--out FILE] [--seed S]

Pairs of ten kinds of work, b with about a tenth more of it than a, are measured alone and beside each of five hostile
neighbours, one at a time. Counted are verdicts of the pair that flip (slower against faster or same, and so on); a
verdict that is not given counts as lost. The ratio beside over the ratio alone is shown for each, and whether a median
that is more than 5 % from that alone is noted in the result. The control is alone against alone, one trial after the
other: how often a median moves as far with no neighbour, because minutes passed.

With --out, every run is kept in that file, and the next call goes on behind it: 50 comparisons of 4 trials take
240 runs, 13 minutes with --seconds 3 --trials 4.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from _kept import Kept
from scipy.stats import binomtest

from deep500 import measure
from deep500.errors import Deep500Error
from deep500.measure.candidates import Statement

NUMPY = """
import os
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
"""
BRANCHES = """
import random
branches = [random.Random(0).randrange(2) for _ in range(3000)]
def branchy(n):
    total = 0
    for bit in branches[:n]:
        if bit: total += 1
        else: total -= 2
    return total
"""
FILES = """
import tempfile
file = tempfile.TemporaryFile()
text = b"x" * 4096
def write(n):
    for _ in range(n):
        file.seek(0)
        file.write(text)
        file.flush()
"""
OBJECTS = """
import random
table = {i: i for i in range(300_000)}
keys = random.Random(0).sample(range(300_000), 20_000)
"""
# The setup, and the work of a and of b; b has 10 % more, so that no honest run calls it faster or the same.
PAIRS = {
    "compute": ("", "sum(range(700))", "sum(range(770))"),
    "L1": (
        NUMPY + "l1 = np.ones(2_000)",
        "l1[:1800].sum()",
        "l1[:2000].sum(); l1[:200].sum()",
    ),
    "L2": (
        NUMPY + "l2 = np.ones(60_000)",
        "l2[:54_000].sum()",
        "l2.sum(); l2[:54].sum()",
    ),
    "L3": (NUMPY + "l3 = np.ones(1_000_000)", "l3[:900_000].sum()", "l3.sum()"),
    "memory": (
        NUMPY + "memory = np.ones(8_000_000)",
        "memory[:7_000_000].sum()",
        "memory.sum()",
    ),
    "branches": (BRANCHES, "branchy(2600)", "branchy(3000)"),
    "allocation": ("", "[[] for _ in range(900)]", "[[] for _ in range(1000)]"),
    "BLAS": (
        NUMPY + "matrix = np.ones((160, 160))",
        "matrix[:140] @ matrix",
        "matrix @ matrix",
    ),
    "I/O": (FILES, "write(8)", "write(9)"),
    "sleep": ("import time", "time.sleep(0.002)", "time.sleep(0.0023)"),
}
HOSTILE = {
    "empties caches": (
        NUMPY + "big = np.ones(4_000_000); out = np.empty_like(big)",
        "out[:] = big",
    ),
    "many objects": (OBJECTS, "[table[k] for k in keys]"),
    "allocates pages": (NUMPY, "np.ones(2_000_000)"),
    "system calls": ("import os", "[os.stat('/') for _ in range(100)]"),
    "sleeps": ("import time", "time.sleep(0.001)"),
}
PROCESSES = 5  # so that there is an interval, however busy the machine is
ALONE = ""  # no neighbour
MOVED = 0.05  # of a median: to be noted


@dataclass(frozen=True)
class Seen:
    """What one run says about the pair."""

    kind: str
    hostile: str
    trial: int
    verdict: str
    ratio: float | None
    medians: list[float]  # seconds, of a and b
    noted: list[bool]  # whether an effect of the neighbour on it is mentioned
    why: str  # there is no verdict
    load: float  # the share of the CPUs that others used
    seconds: float


def measured(
    kind: str, hostile: str, trial: int, seconds: float, seed: int
) -> dict[str, Any]:
    """What one run says about the pair, as the fields of a `Seen`."""
    setup, a, b = PAIRS[kind]
    candidates = {"a": Statement(a, setup), "b": Statement(b, setup)}
    if hostile:
        setup, statement = HOSTILE[hostile]
        candidates["hostile"] = Statement(statement, setup)
    began = time.monotonic()
    result = measure.run(
        candidates, budget_s=seconds, processes=PROCESSES, seed=seed + trial
    )
    elapsed = time.monotonic() - began
    found = result.derived.comparisons[0]
    entries = result.derived.entries[:2]
    noted = []
    for entry in entries:
        noted.append(any("in a row of its own calls" in note for note in entry.notes))
    why = ""
    if found.verdict == "inconclusive":
        interval = f"[{found.low}, {found.high}]"
        why = "; ".join([interval, *found.notes])
    loads = [block.load.others for block in result.blocks if block.load]
    seen = Seen(
        kind=kind,
        hostile=hostile,
        trial=trial,
        verdict=found.verdict,
        ratio=found.ratio,
        medians=[entry.median for entry in entries],
        noted=noted,
        why=why,
        load=float(np.median(loads)) if loads else math.nan,
        seconds=elapsed,
    )
    return asdict(seen)


def outcome(alone: Seen, beside: Seen) -> str:
    """Whether a given verdict stayed, became another one, or was lost."""
    if "inconclusive" in (alone.verdict, beside.verdict):
        if alone.verdict == beside.verdict:
            return "never given"
        return "lost" if beside.verdict == "inconclusive" else "gained"
    return "kept" if alone.verdict == beside.verdict else "FLIPPED"


def moved(alone: Seen, beside: Seen) -> list[str]:
    """The medians that are more than 5 % from those alone, and whether the result notes it."""
    lines = []
    for name, before, after, noted in zip(
        "ab", alone.medians, beside.medians, beside.noted, strict=True
    ):
        ratio = after / before
        if abs(math.log(ratio)) > math.log1p(MOVED):
            lines.append(f"{name} x {ratio:.3f}{', noted' if noted else ', NOT NOTED'}")
    return lines


def moved_without_neighbours(seen: list[Seen]) -> tuple[int, int]:
    """How many medians alone are more than 5 % from those of the trial before, and of how many."""
    count = total = 0
    by_kind: dict[str, list[Seen]] = {}
    for run in seen:
        by_kind.setdefault(run.kind, []).append(run)
    for trials in by_kind.values():
        for before, after in pairwise(trials):
            count += len(moved(before, after))
            total += len(after.medians)
    return count, total


def runs(args: argparse.Namespace) -> Iterator[Seen]:
    """Every run; those in the file are not made again."""
    kept = Kept(args.out)
    for trial in range(args.trials):
        for kind in args.kinds.split(","):
            for hostile in (ALONE, *HOSTILE):
                run = partial(measured, kind, hostile, trial, args.seconds, args.seed)
                key = kind, hostile, trial, args.seconds, args.seed
                yield Seen(**kept.of(*key, trial=run))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(PAIRS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    unknown = set(args.kinds.split(",")) - set(PAIRS)
    if unknown:
        raise Deep500Error(f"no such kinds: {unknown}; there are {', '.join(PAIRS)}")
    counts: Counter[str] = Counter()
    shifts, loads = [], []
    medians = unnoted = 0
    alone_runs = []
    for seen in runs(args):
        loads.append(seen.load)
        if seen.hostile == ALONE:
            alone = seen
            alone_runs.append(seen)
            continue
        what = outcome(alone, seen)
        counts[what] += 1
        if seen.ratio and alone.ratio:
            shifts.append(abs(math.log(seen.ratio / alone.ratio)))
        shifted = moved(alone, seen)
        medians += 2
        unnoted += sum("NOT NOTED" in line for line in shifted)
        why = seen.why or alone.why
        print(
            f"{seen.kind:10s} beside {seen.hostile:15s} {alone.ratio or math.nan:6.3f} {alone.verdict:12s} -> "
            f"{seen.ratio or math.nan:6.3f} {seen.verdict:12s} {what}; {'; '.join([*shifted, why])}",
            flush=True,
        )
    given = counts["kept"] + counts["FLIPPED"]
    if given:
        low, high = binomtest(counts["FLIPPED"], given).proportion_ci()
        print(
            f"flipped: {counts['FLIPPED']} of {given} pairs of verdicts "
            f"[{100 * low:.1f} %, {100 * high:.1f} %]; {dict(counts)}; "
            f"ratio beside / alone: median {100 * np.median(shifts):.1f} % apart, "
            f"90 % within {100 * np.quantile(shifts, 0.9):.1f} %"
        )
    print(
        f"medians more than {100 * MOVED:g} % from those alone without a note: {unnoted} of {medians}; "
        f"others used {100 * np.nanmedian(loads):.0f} % of the CPUs (median over runs)"
    )
    drifted, compared = moved_without_neighbours(alone_runs)
    if compared:
        print(
            f"control, alone against alone of the trial before: {drifted} of {compared}"
        )
    return 1 if counts["FLIPPED"] else 0


if __name__ == "__main__":
    sys.exit(main())
