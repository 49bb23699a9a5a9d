"""Equal statements, and one with 1 % and 3 % more work: what d5 says of them within 5 s, beside pyperf and timeit.

    python benchmarks/beside_pyperf.py [--trials 8] [--margins 0.02,0.005] [--seconds 5] [--seed S] [--out FILE]

d5 interleaves both sides. pyperf (`timeit --fast`, then `compare_to`) and timeit (the best of five) measure one after
the other, which is what they do by default. pyperf is no dependency of ours: without it (`pip install pyperf`), its
rows are left out. A trial takes d5 5 s for each margin, pyperf about 15 s, timeit 4 s: eight trials of three cases take
about 11 minutes. With --out, finished trials are kept in that file, and the next call goes on behind them.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from _kept import Kept
from scipy.stats import binomtest

from deep500 import measure

LOOPS = 1000  # a call takes about a millisecond
SETUP = "units = range(60)"
CASES = {"A/A": 0, "+1 %": 1, "+3 %": 3}


def statement(percent: int) -> str:
    return f"for _ in range({LOOPS * (100 + percent) // 100}): sum(units)"


def ours(percent: int, margin: float, seconds: float, seed: int) -> str:
    candidates = {"a": statement(0), "b": statement(percent)}
    result = measure.run(
        candidates, setup=SETUP, budget_s=seconds, margin=margin, seed=seed
    )
    return result.compare("a", "b").verdict


def of_pyperf(percent: int) -> str:
    python = [sys.executable, "-m", "pyperf"]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, more in (("a", 0), ("b", percent)):
            file = str(Path(folder) / f"{name}.json")
            timeit = ["timeit", "--fast", "-q", "-s", SETUP, "-o", file]
            subprocess.run([*python, *timeit, statement(more)], check=True, capture_output=True)  # fmt: skip
            files.append(file)
        answer = subprocess.run(
            [*python, "compare_to", *files], check=True, capture_output=True, text=True
        ).stdout
    if "not significant" in answer.lower():
        return "not significant"
    return "slower" if "slower" in answer else "faster"


def of_timeit(percent: int) -> str:
    """The ratio of the best of five, one side after the other, on the scale of per cents."""
    best = []
    for more in (0, percent):
        words = ["-m", "timeit", "-u", "usec", "-s", SETUP, statement(more)]
        answer = subprocess.run(
            [sys.executable, *words], check=True, capture_output=True, text=True
        ).stdout
        best.append(float(answer.split("best of 5:")[1].split()[0]))
    ratio = best[1] / best[0]
    if abs(ratio - 1) < 0.005:
        return "same"
    return "slower" if ratio > 1 else "faster"


def timed(
    verdict_of: Callable[[int, int], str], percent: int, seed: int
) -> tuple[str, float]:
    """The verdict of a trial, and the seconds that it took."""
    began = time.monotonic()
    verdict = verdict_of(percent, seed)
    return verdict, time.monotonic() - began


def right(percent: int, margin: float) -> tuple[str, ...]:
    """What an honest tool says; a difference within the margin may be called the same."""
    if percent == 0:
        return "same", "not significant"
    if percent / 100 < margin:
        return ("same",)
    return ("slower",)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--margins", default="0.02,0.005")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    tools: dict[str, tuple[float, Callable[[int, int], str]]] = {}
    for text in args.margins.split(","):
        margin = float(text)

        def d5(percent: int, seed: int, margin: float = margin) -> str:
            return ours(percent, margin, args.seconds, seed)

        tools[f"d5, margin {100 * margin:g} %"] = margin, d5
    if importlib.util.find_spec("pyperf"):
        tools["pyperf --fast"] = 0.0, lambda percent, seed: of_pyperf(percent)
    else:
        print("pyperf is not installed (pip install pyperf): its rows are left out")
    tools["timeit, best of 5"] = 0.005, lambda percent, seed: of_timeit(percent)
    kept = Kept(args.out)
    wrong_of_ours = 0
    for case, percent in CASES.items():
        for tool, (margin, verdict_of) in tools.items():
            trials = []
            for i in range(args.trials):
                seed = args.seed * 1000 + i
                trial = partial(timed, verdict_of, percent, seed)
                trials.append(kept.of(case, tool, args.seconds, seed, trial=trial))
            said = Counter(verdict for verdict, _ in trials)
            seconds = sum(seconds for _, seconds in trials) / args.trials
            good = sum(said[word] for word in right(percent, margin))
            wrong = args.trials - good - said["inconclusive"]
            if percent:
                wrong -= said["not significant"]
            if tool.startswith("d5"):
                wrong_of_ours += wrong
            low, high = binomtest(wrong, args.trials).proportion_ci()
            print(
                f"{case:5s} {tool:20s} right {good} of {args.trials}, wrong {wrong} "
                f"[{100 * low:.0f} %, {100 * high:.0f} %], {seconds:.1f} s each: {dict(said)}",
                flush=True,
            )
    return 1 if wrong_of_ours else 0


if __name__ == "__main__":
    sys.exit(main())
