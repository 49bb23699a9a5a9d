"""Sums of sparse streams: our merge against SciPy's and NumPy's, and whether its cost grows as the model says.

    python benchmarks/sparse_merging.py [--size 10000000] [--budget 5] [--cpu]

merging    two streams of float32 with 0.1, 1 and 10 % of the elements: paired ratios ours / theirs in mirrored order,
           with the interval at 95 %. SciPy adds two rows in CSR form; NumPy sorts all indices, and adds up equal ones
growth     all merges of a rank in SSARRecursiveDoubling on 2 … 16 ranks, in turn: the time of an entry that the model
           counts, against that at 1 % and P = 2; caches make it up to 4 times as long, a quadratic merge 1000 times
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from deep500 import measure
from deep500.collectives._fill_in import FillIn
from deep500.collectives._merging import LOOPS, merged
from deep500.contracts.sparse_stream import INDEX, SparseStream

DENSITIES = (0.001, 0.01, 0.1)
RANKS = (2, 4, 8, 16)
BASE = (0.01, 2)  # density and ranks
ROUNDS = 30
FEWEST_ROUNDS = 40
MOST_APART = 4.0  # over caches of all levels
PAIRS = 16  # of streams, an even number
Sum = Callable[[int], Any]
clock: Callable[[], float] = time.perf_counter


def stream(size: int, density: float, seed: int) -> SparseStream:
    random = np.random.default_rng(seed)
    is_kept = random.random(size, np.float32) < density
    indices = np.flatnonzero(is_kept).astype(INDEX)
    values = random.standard_normal(indices.size, np.float32)
    return SparseStream(size, values, indices)


def as_row(one: SparseStream) -> Any:
    assert one.indices is not None
    places = one.indices.astype(np.int32)
    starts = np.array([0, places.size], np.int32)
    return csr_array((one.values, places, starts), shape=(1, one.size))


def by_numpy(one: SparseStream, other: SparseStream) -> SparseStream:
    """A stable sort of all indices, and a sum where two are equal: what runs without a compiler."""
    with LOOPS.only_numpy():
        return merged(one, other)


def merging(size: int, density: float, budget_s: float) -> bool:
    # other streams in every round: a branch predictor would learn those that come again, which gradients do not
    pairs = []
    for seed in range(0, 2 * PAIRS, 2):
        pairs.append((stream(size, density, seed), stream(size, density, seed + 1)))
    rows = [(as_row(one), as_row(other)) for one, other in pairs]
    _check(*pairs[0])
    theirs: dict[str, Sum] = {
        "SciPy": lambda number: rows[number][0] + rows[number][1],
        "NumPy": lambda number: by_numpy(*pairs[number]),
    }
    is_faster = []
    for name, their_sum in theirs.items():
        ratio = paired(their_sum, lambda number: merged(*pairs[number]), budget_s)
        is_faster.append(ratio.high < 1)
        print(
            f"{density:6.1%}  ours / {name}  {ratio.estimate:6.3f} [{ratio.low:.3f}, {ratio.high:.3f}], n = {ratio.n}",
            flush=True,
        )
    return all(is_faster)


def _check(one: SparseStream, other: SparseStream) -> None:
    """All three give the same sum."""
    wanted = (as_row(one) + as_row(other)).toarray().ravel()
    for total in (merged(one, other), by_numpy(one, other)):
        np.testing.assert_allclose(total.dense(), wanted, rtol=1e-6)


def paired(theirs: Sum, ours: Sum, budget_s: float) -> Any:
    """The ratio of times, one for every round of both in mirrored order."""
    theirs(0), ours(0)
    ratios: list[float] = []
    began = time.perf_counter()
    while len(ratios) < FEWEST_ROUNDS or time.perf_counter() - began < budget_s:
        number = 2 * len(ratios) % PAIRS
        first, second = number, number + 1
        times = [_seconds(theirs, first), _seconds(ours, first)]
        times += [_seconds(ours, second), _seconds(theirs, second)]
        ratios.append((times[1] + times[2]) / (times[0] + times[3]))
    return measure.interval(ratios)


def _seconds(function: Sum, number: int) -> float:
    begin = clock()
    function(number)
    return clock() - begin


def growth(size: int) -> bool:
    """The merges of one rank, for streams with independent places: the time of an entry against the base case."""
    streams = {
        density: [stream(size, density, seed) for seed in range(max(RANKS))]
        for density in DENSITIES
    }
    rates: dict[tuple[float, int], list[float]] = {}
    for _ in range(ROUNDS):
        for density, every in streams.items():
            for ranks in RANKS:
                _doubling(
                    every[:ranks]
                )  # untimed: what came before is still in the caches
                seconds = _doubling(every[:ranks])
                rate = 1e9 * seconds / _counted(size, density, ranks)
                rates.setdefault((density, ranks), []).append(rate)
    is_within = []
    for (density, ranks), each in rates.items():
        ratios = np.array(each) / np.array(rates[BASE])
        ratio = measure.interval(ratios) if (density, ranks) != BASE else None
        text = "the base" if ratio is None else _text(ratio)
        entries = _counted(size, density, ranks)
        print(
            f"{density:6.1%}  P = {ranks:2}  {entries:.2e} entries, {np.median(each):5.2f} ns each; {text}",
            flush=True,
        )
        is_within.append(ratio is None or ratio.high < MOST_APART)
    return all(is_within)


def _text(ratio: Any) -> str:
    return f"{ratio.estimate:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] of the base, n = {ratio.n}"


def _counted(size: int, density: float, ranks: int) -> float:
    """The entries that rank 0 merges, its own and the others'; of a dense sum all elements."""
    union = FillIn(size, round(density * size))
    counted, together = 0.0, 1
    while together < ranks:
        held = union(together)
        counted += 2 * min(held, size / 2)
        together *= 2
    return counted


def _doubling(streams: list[SparseStream]) -> float:
    """The seconds of rank 0's merges in recursive doubling; the others' streams are merged off the clock."""
    seconds = 0.0
    level = streams
    while len(level) > 1:
        begin = clock()
        first = merged(level[0], level[1])
        seconds += clock() - begin
        rest = range(2, len(level), 2)
        level = [first, *(merged(level[place], level[place + 1]) for place in rest)]
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=10_000_000)
    parser.add_argument(
        "--budget", type=float, default=5.0, help="seconds for each line (5)"
    )
    parser.add_argument(
        "--cpu", action="store_true", help="CPU time, for a machine that others use"
    )
    args = parser.parse_args()
    if args.cpu:
        global clock
        clock = time.process_time
    print(f"loops in {'NumPy' if LOOPS.library() is None else 'C++'}")
    faster = [merging(args.size, density, args.budget) for density in DENSITIES]
    grows = growth(args.size)
    print(f"faster than both: {'yes' if all(faster) else 'no'}")
    print(f"grows as the model says: {'yes' if grows else 'no'}")
    return 0 if all(faster) and grows else 1


if __name__ == "__main__":
    sys.exit(main())
