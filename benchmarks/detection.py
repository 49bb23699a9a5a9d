"""Does a real comparison on this machine find a planted slowdown, and leave equal things alone?

    python benchmarks/detection.py [--quick] [--seed S]

A/A: 100 comparisons of 5 s. +5 %: 40 of 5 s. +3 %: 40 of 20 s. About 25 minutes; --quick does a tenth.
Verdicts have a margin of 2 % here, which hides smaller shifts: whether intervals hold 1 is what centred.py is about.
"""

import argparse
import sys

from scipy.stats import binomtest

from deep500 import measure

SETUP = "units = list(range(120))"  # summing it takes a few µs; a hundred times is a call of about a millisecond
BASE = 200


def loop(units: int) -> str:
    return f"for _ in range({units}): sum(units)"


CASES = [  # name, planted slowdown in %, seconds, comparisons, what is counted, what to reach
    ("A/A", 0, 5.0, 100, ("slower", "faster"), "at most 2"),
    ("+5 %", 5, 5.0, 40, ("slower",), "at least 38"),
    ("+3 %", 3, 20.0, 40, ("slower",), "at least 36"),
]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    for name, planted, seconds, wanted, counted, goal in CASES:
        if args.only not in name:
            continue
        n = wanted // 10 if args.quick else wanted
        verdicts: dict[str, int] = {}
        widths, ratios, processes = [], [], []
        holds_one = 0
        for i in range(n):
            result = measure.run(
                {"a": loop(BASE), "b": loop(BASE + BASE * planted // 100)},
                setup=SETUP,
                budget_s=seconds,
                seed=args.seed * 1000 + i,
            )
            found = result.compare("a", "b")
            verdicts[found.verdict] = verdicts.get(found.verdict, 0) + 1
            widths.append((found.high - found.low) / 2)
            ratios.append(found.ratio)
            holds_one += found.low <= 1 <= found.high
            processes.append(found.processes)
            print(
                f"{name} {i + 1}/{n}: {found.ratio:.4f} [{found.low:.4f}, {found.high:.4f}] {found.verdict}, "
                f"{found.processes} processes, n = {found.n}",
                file=sys.stderr,
            )
        hits = sum(verdicts.get(v, 0) for v in counted)
        low, high = binomtest(hits, n).proportion_ci()
        middle = sorted(range(n), key=ratios.__getitem__)[n // 2]
        print(
            f"{name:5s} {seconds:4.0f} s each: {' or '.join(counted)} in {hits} of {n} "
            f"[{100 * low:.1f} %, {100 * high:.1f} %], goal {goal} of {wanted}; verdicts {verdicts}; "
            f"median ratio {ratios[middle]:.4f}, median half-width {sorted(widths)[n // 2]:.4f}, "
            f"median processes {sorted(processes)[n // 2]}; the interval holds 1 in {holds_one} of {n}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
