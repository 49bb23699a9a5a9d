"""How often `d5 audit` finds a fooled bundle, and alarms on an honest one: python benchmarks/audit_rates.py

Honest bundles of all kinds are made on this machine (a few minutes), and the recorded ones of the tests are added;
with --folder they are kept there, and those that are there are not made again.
Every way that fits a bundle is applied to it. FAIL is an alarm. Intervals are Clopper-Pearson at 95 %.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scipy.stats import binomtest

import deep500 as d5
from deep500.fooling.ways import WAYS

ROOT = Path(__file__).parents[1]
STATEMENTS = [
    "sum(range(99))",
    "sorted(range(99))",
    "[i for i in range(99)]",
    "'-'.join('abcdefgh')",
    "dict.fromkeys(range(50))",
    "len(str(2**200))",
]
RECIPES = ["digits_mlp", "digits_logistic", "diabetes_regression", "digits_autoencoder"]


def commands() -> Iterator[list[str]]:
    """What is run: benchmarks, recipes, checks, each of a second or a few."""
    for i, statement in enumerate(STATEMENTS):
        other = STATEMENTS[(i + 1) % len(STATEMENTS)]
        yield ["bench", statement, "--budget", "0.6"]
        yield ["bench", statement, other, "--budget", "1", "--control"]
    for name in ("Relu", "Sigmoid", "Softmax"):
        yield ["bench", "operator", name, "--shape", "64x64", "--budget", "0.5"]
    yield ["bench", "operator", "MatMul", "--shape", "32x32,32x32", "--budget", "0.5"]
    yield ["bench", "dataset", "digits", "--budget", "2"]
    ring = ["--algorithm", "Ring", "--size", "8", "4KiB", "--launches", "2"]
    for transport in ("virtual", "mpi"):
        yield ["bench", "collective", "--transport", transport, *ring, "--seconds", "1"]
    for recipe in RECIPES:
        for framework in ("reference", "pytorch"):
            for seeds in ("1", "3", "5"):
                options = ["--tier", "tiny", "--framework", framework]
                yield ["run", recipe, *options, "--seeds", seeds]
    for operator in ("Relu", "Tanh"):
        yield ["check", "operator", operator, "--framework", "reference"]
    yield ["check", "codec", "TopK(0.01)"]
    yield ["check", "sampler", "ShuffleSampler"]
    yield ["check", "optimizer", "Adam", "--framework", "reference"]


def honest_bundles(folder: Path) -> list[Path]:
    """Every honest bundle, made now or recorded before."""
    made = []
    for number, line in enumerate(commands()):
        out = folder / f"honest-{number:02}-{line[0]}"
        command = [sys.executable, "-m", "deep500.cli", *line, "--out", str(out)]
        if (out / "manifest.json").exists():
            made.append(out)
            continue
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if (out / "manifest.json").exists():
            made.append(out)
        else:
            print(f"not made: {' '.join(line)}: {done.stderr.strip()[-200:]}")
    return [*made, *sorted((ROOT / "tests" / "data").glob("*/*.zip"))]


def rate(hits: int, of: int) -> str:
    low, high = binomtest(hits, of).proportion_ci(0.95)
    return f"{hits} of {of} [{100 * low:.1f}, {100 * high:.1f}] %"


def alarms(bundles: Sequence[Path]) -> None:
    alarmed = []
    warned: Counter[str] = Counter()
    for bundle in bundles:
        audit = d5.audit_sources(bundle)
        failed = audit.having("FAIL")
        warned.update(outcome.id for outcome in audit.having("WARN"))
        if failed:
            alarmed.append(bundle)
            ids = ", ".join(outcome.id for outcome in failed)
            print(f"alarm: {bundle.name}: {ids}: {failed[0].findings[0].text}")
    print(f"honest bundles with an alarm: {rate(len(alarmed), len(bundles))}")
    listed = ", ".join(f"{rule} {count}" for rule, count in warned.most_common())
    print(f"doubts (WARN) on honest bundles, by rule: {listed}")


def detection(bundles: Sequence[Path], folder: Path) -> None:
    found: Counter[int] = Counter()
    tried: Counter[int] = Counter()
    for way in WAYS:
        for number, bundle in enumerate(bundles):
            out = folder / f"fooled-{way}-{number}"
            try:
                d5.fool(bundle, way, out)
            except d5.Deep500Error:
                continue  # the way does not fit this bundle
            tried[way] += 1
            audit = d5.audit_sources(out, rules=[f"F{way}"])
            if audit.having("FAIL"):
                found[way] += 1
            else:
                print(f"missed: way {way}, {bundle.name}")
        print(f"way {way}: found {rate(found[way], tried[way])}")
    print(f"all ways: found {rate(found.total(), tried.total())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        bundles = honest_bundles(folder)
        kinds = Counter(d5.load(bundle).kind.name for bundle in bundles)
        print(f"{len(bundles)} honest bundles: {dict(kinds)}")
        alarms(bundles)
        detection(bundles, Path(temporary))


if __name__ == "__main__":
    main()
