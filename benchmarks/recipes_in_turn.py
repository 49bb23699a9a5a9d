"""Are two equal recipes, trained in turn (`d5 run A B`), called different in their times?

    python benchmarks/recipes_in_turn.py [--pairs 7] [--recipes digits_mlp,...] [--load 0,2] [--out FILE] [--seed S]

Each of three recipes is trained against itself, a tenth of its epochs, six seeds of each side in turn, on the machine
as it is and beside so many processes that compute without end. Counted are the verdicts on times (throughput, time to
accuracy) at the usual margin of 2 %; the goal is at most 5 % different. With --out, finished pairs are kept in that
file, and the next call goes on behind them. With the defaults: 42 pairs.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path

from _kept import Kept
from scipy.stats import binomtest

from deep500.bundle.records.bundle_comparison import compare
from deep500.rerun.recipe_files import load_recipe
from deep500.rerun.runs_in_turn import run_in_turn

RECIPES = "digits_mlp,digits_logistic,digits_cnn"
SEEDS = 6  # the fewest for intervals by ranks
COLUMNS = ("name", "value", "low", "high", "verdict")
DIFFERENT = ("better", "worse", "different")
SPIN = "while True: pass"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Beside so many processes that compute."""
    others = [
        subprocess.Popen([sys.executable, "-S", "-c", SPIN]) for _ in range(processes)
    ]
    try:
        yield
    finally:
        for process in others:
            process.kill()
            process.wait()


def compared(recipe: str, load: int, first_seed: int) -> list[dict]:
    """The comparisons of times of one recipe with itself."""
    pair = [load_recipe(recipe), load_recipe(recipe)]
    seeds = range(first_seed, first_seed + SEEDS)
    with tempfile.TemporaryDirectory() as folder, busy(load):
        a, b = run_in_turn(pair, Path(folder) / "pair", tier="tiny", seeds=list(seeds))
        metrics = compare(a.bundle, b.bundle).to_json()["comparisons"]
    rows = []
    for metric in metrics:
        if metric["effect"] == "ratio":
            rows.append({key: metric[key] for key in COLUMNS})
    return rows


def show(done: list[dict]) -> int:
    """The counts, by load and in all; the number of different ones."""
    loads = sorted({row["load"] for row in done})
    for load in [*loads, None]:
        rows = [row for row in done if load in (row["load"], None)]
        verdicts = Counter(row["verdict"] for row in rows)
        count = sum(verdicts[verdict] for verdict in DIFFERENT)
        low, high = binomtest(count, len(rows)).proportion_ci()
        where = "in all" if load is None else f"beside {load} processes"
        print(
            f"{where}: {count} of {len(rows)} comparisons of times of equal recipes called different "
            f"[{100 * low:.1f} %, {100 * high:.1f} %]; {dict(verdicts)}"
        )
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--recipes", default=RECIPES)
    parser.add_argument("--load", default="0,2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    kept = Kept(args.out)
    loads = list(map(int, args.load.split(",")))
    done: list[dict] = []
    for number, load, recipe in product(
        range(args.pairs), loads, args.recipes.split(",")
    ):
        first_seed = args.seed + SEEDS * number
        pair = partial(compared, recipe, load, first_seed)
        for row in kept.of(recipe, load, first_seed, trial=pair):
            done.append({"load": load, **row})
            print(
                f"{recipe:16s} beside {load}: {row['name']} {row['value']} "
                f"[{row['low']}, {row['high']}] {row['verdict']}",
                flush=True,
            )
    return 1 if show(done) > 0.05 * len(done) else 0


if __name__ == "__main__":
    sys.exit(main())
