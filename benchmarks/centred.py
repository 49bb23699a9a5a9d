"""Are equal things found equal, and is one per cent found? Real comparisons of code with itself, on this machine.

    python benchmarks/centred.py [--kind KIND] [--runs N] [--planted] [--first K] [--log FILE]

Four kinds of work, each candidate with a setup of its own, so that its data lie elsewhere in memory. A/A: 60 runs of
8 s; the 95 % interval should hold 1 in at least 53, and the median log-ratio lie within ±0.2 %. With --planted: 40 runs
of at most 2 minutes with a margin of 0.5 %; work that takes 1 % longer should be called slower in at least 32.
Every run is a line in the log (centred.jsonl); a run that is there already is not made again, so that an interrupted
benchmark goes on where it was. --summary reads the log and runs nothing.
"""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from deep500 import measure
from deep500.measure.statistics.intervals import interval

# Per kind: setup, statement and units of work; all of them take less than a millisecond on a machine of 2021.
KINDS = {
    "list": ("x = list(range({n}))", "sum(x)", 40_000),
    "dictionary": (
        "d = {{i: str(i) for i in range(4000)}}; keys = (list(d) * 3)[:{n}]",
        "for k in keys: d[k]",
        8_000,
    ),
    "numpy": (
        "import numpy as np; x = np.arange(4_000, dtype='float64'); y = np.empty_like(x)",
        "for _ in range({n}): np.add(x, 1.0, out=y)",
        100,
    ),
    "allocation": ("size = 30", "for i in range({n}): [i] * size", 4_000),
}
RUNS = {"A/A": 60, "+1 %": 40}
BUDGET_S = {"A/A": 8.0, "+1 %": 120.0}
MARGIN = {"A/A": 0.02, "+1 %": 0.005}


def one_run(case: str, kind: str, seed: int) -> dict:
    """One comparison; what it said, and what others did meanwhile."""
    setup, statement, units = KINDS[kind]
    slower = units + units // 100 if case == "+1 %" else units
    candidates = {
        "a": measure.Statement(statement.format(n=units), setup.format(n=units)),
        "b": measure.Statement(statement.format(n=slower), setup.format(n=slower)),
    }
    # The budget is to be spent: an interval as narrow as it gets is the hardest to be right with.
    precision = 0.0005 if case == "A/A" else 0.02
    result = measure.run(
        candidates,
        budget_s=BUDGET_S[case],
        margin=MARGIN[case],
        precision=precision,
        seed=seed,
    )
    found = result.compare("a", "b")
    others = result.interference
    return {
        "case": case,
        "kind": kind,
        "seed": seed,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "verdict": found.verdict,
        "processes": found.processes,
        "n": found.n,
        "others": others.others if others else None,
    }


def summary(case: str, runs: list[dict]) -> str:
    """What all runs of a case say together, with n and intervals."""
    counted = [r for r in runs if r["case"] == case]
    if not counted:
        return f"{case}: no runs"
    if case == "A/A":
        hits = sum(r["low"] <= 1 <= r["high"] for r in counted)
        words, goal = "the 95 % interval holds 1", "at least 53 of 60"
    else:
        hits = sum(r["verdict"] == "slower" for r in counted)
        words, goal = "called slower", "at least 32 of 40"
    n = len(counted)
    low, high = binomtest(hits, n).proportion_ci()
    line = f"{case}: {words} in {hits} of {n} [{100 * low:.1f} %, {100 * high:.1f} %], goal {goal}; "
    return line + f"{_median_ratio(counted)}; {_others(counted)}"


def _median_ratio(runs: list[dict]) -> str:
    ratios = [r["ratio"] for r in runs]
    limits = ""
    if len(ratios) >= 6:
        found = interval(ratios)
        limits = (
            f" [{100 * math.log(found.low):+.3f}, {100 * math.log(found.high):+.3f}]"
        )
    return f"median log-ratio {100 * math.log(np.median(ratios)):+.3f} %{limits}, n = {len(ratios)}"


def _others(runs: list[dict]) -> str:
    shares = [r["others"] for r in runs if r["others"] is not None]
    if not shares:
        return "what others used is not known"
    low, middle, high = np.quantile(shares, [0, 0.5, 1])
    return f"others used {middle:.0%} of the CPUs (from {low:.0%} to {high:.0%})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument(
        "--runs", type=int, default=None, help="how many (60, planted 40)"
    )
    parser.add_argument(
        "--planted", action="store_true", help="one per cent instead of none"
    )
    parser.add_argument(
        "--first", type=int, default=1, help="the seed of the first run"
    )
    parser.add_argument("--log", type=Path, default=Path("centred.jsonl"))
    parser.add_argument(
        "--summary", action="store_true", help="read the log, run nothing"
    )
    args = parser.parse_args()
    case = "+1 %" if args.planted else "A/A"
    done = _read(args.log)
    wanted = args.runs or RUNS[case]
    if not args.summary:
        print(f"python {' '.join(sys.argv)}", file=sys.stderr)
    for i in range(0 if args.summary else wanted):
        kind, seed = args.kind[i % len(args.kind)], args.first + i
        if any((r["case"], r["kind"], r["seed"]) == (case, kind, seed) for r in done):
            continue
        run = one_run(case, kind, seed)
        done.append(run)
        with args.log.open("a") as log:
            log.write(json.dumps(run) + "\n")
        print(
            f"{case} {i + 1}/{wanted} {kind}: {run['ratio']:.4f} [{run['low']:.4f}, {run['high']:.4f}] "
            f"{run['verdict']}, {run['processes']} processes, n = {run['n']}, others {run['others']}",
            file=sys.stderr,
            flush=True,
        )
    for kind in args.kind:
        print(f"{kind:10s} {summary(case, [r for r in done if r['kind'] == kind])}")
    print(f"{'all':10s} {summary(case, done)}", flush=True)
    return 0


def _read(log: Path) -> list[dict]:
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text().splitlines()]


if __name__ == "__main__":
    sys.exit(main())
