"""Does the verdict on a pair depend on a third candidate that runs beside it?

    python benchmarks/neighbours.py [--seconds 5] [--trials 1] [--kinds compute,L1,...] [--seed S]

Pairs of ten kinds of work, b with a few per cent more of it than a, are measured alone and beside each of five hostile
neighbours, one at a time. Counted are verdicts of the pair that flip (slower against faster or same, and so on);
a verdict that is not given counts as lost. The ratio beside over the ratio alone is shown for each.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from deep500 import measure
from deep500.errors import Deep500Error

SETUP = """
import os, tempfile, time
os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np
rng = np.random.default_rng(0)
l1 = np.ones(2_000)
l2 = np.ones(60_000)
l3 = np.ones(1_000_000)
memory = np.ones(8_000_000)
branches = rng.integers(0, 2, 3000).tolist()
matrix = np.ones((160, 160))
file = tempfile.TemporaryFile()
text = b"x" * 4096
big = np.ones(4_000_000)
out = np.empty_like(big)
table = {i: i for i in range(300_000)}
keys = rng.permutation(300_000)[:20_000].tolist()
def branchy(n):
    total = 0
    for bit in branches[:n]:
        if bit: total += 1
        else: total -= 2
    return total
def write(n):
    for _ in range(n):
        file.seek(0)
        file.write(text)
        file.flush()
"""
# the work of a and of b; b has 10 % more, so that no honest run calls it faster or the same
PAIRS = {
    "compute": ("sum(range(700))", "sum(range(770))"),
    "L1": ("l1[:1800].sum()", "l1[:2000].sum(); l1[:200].sum()"),
    "L2": ("l2[:54_000].sum()", "l2.sum(); l2[:54].sum()"),
    "L3": ("l3[:900_000].sum()", "l3.sum()"),
    "memory": ("memory[:7_000_000].sum()", "memory.sum()"),
    "branches": ("branchy(2600)", "branchy(3000)"),
    "allocation": ("[[] for _ in range(900)]", "[[] for _ in range(1000)]"),
    "BLAS": ("matrix[:140] @ matrix", "matrix @ matrix"),
    "I/O": ("write(8)", "write(9)"),
    "sleep": ("time.sleep(0.002)", "time.sleep(0.0023)"),
}
PROCESSES = 5  # so that there is an interval, however busy the machine is
HOSTILE = {
    "empties caches": "out[:] = big",
    "many objects": "[table[k] for k in keys]",
    "allocates pages": "np.ones(2_000_000)",
    "system calls": "[os.stat('/') for _ in range(100)]",
    "sleeps": "time.sleep(0.001)",
}


@dataclass(frozen=True)
class Seen:
    """What one run says about the pair."""

    verdict: str
    ratio: float
    noted: bool  # whether an effect of the neighbour is mentioned


def measured(kind: str, hostile: str | None, seconds: float, seed: int) -> Seen:
    a, b = PAIRS[kind]
    candidates = {"a": a, "b": b}
    if hostile:
        candidates["hostile"] = HOSTILE[hostile]
    result = measure.run(
        candidates, setup=SETUP, budget_s=seconds, processes=PROCESSES, seed=seed
    )
    found = result.derived["comparisons"][0]
    notes = [*found["notes"]]
    for entry in result.derived["entries"][:2]:
        notes += entry["notes"]
    noted = any("in a row of its own calls" in note for note in notes)
    return Seen(found["verdict"], found["ratio"] or math.nan, noted)


def outcome(alone: Seen, beside: Seen) -> str:
    """Whether a given verdict stayed, became another one, or was lost."""
    if "inconclusive" in (alone.verdict, beside.verdict):
        if alone.verdict == beside.verdict:
            return "never given"
        return "lost" if beside.verdict == "inconclusive" else "gained"
    return "kept" if alone.verdict == beside.verdict else "FLIPPED"


def trials(args: argparse.Namespace) -> Iterator[tuple[str, str, Seen, Seen]]:
    for number in range(args.trials):
        for kind in args.kinds.split(","):
            seed = args.seed + number
            alone = measured(kind, None, args.seconds, seed)
            for hostile in HOSTILE:
                yield kind, hostile, alone, measured(kind, hostile, args.seconds, seed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--kinds", default=",".join(PAIRS))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    unknown = set(args.kinds.split(",")) - set(PAIRS)
    if unknown:
        raise Deep500Error(f"no such kinds: {unknown}; there are {', '.join(PAIRS)}")
    counts: Counter[str] = Counter()
    shifts = []
    for kind, hostile, alone, beside in trials(args):
        what = outcome(alone, beside)
        counts[what] += 1
        if not math.isnan(beside.ratio) and not math.isnan(alone.ratio):
            shifts.append(abs(math.log(beside.ratio / alone.ratio)))
        said = ", effect noted" if beside.noted else ""
        print(
            f"{kind:10s} beside {hostile:15s} {alone.ratio:6.3f} {alone.verdict:12s} -> "
            f"{beside.ratio:6.3f} {beside.verdict:12s} {what}{said}",
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
    return 1 if counts["FLIPPED"] else 0


if __name__ == "__main__":
    sys.exit(main())
