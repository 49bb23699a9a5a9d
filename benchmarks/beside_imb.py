"""Our timings of MPI_Allreduce beside those of Intel's MPI Benchmarks (IMB-MPI1), on the same sizes and library.

    python benchmarks/beside_imb.py [--venv /tmp/deep500-impi] [--ranks 2] [--rounds 10] [--goal 8192] [--seed 0]

Makes an environment of its own with `impi-rt==2021.18.1`, which brings IMB, and mpi4py; nothing else is installed. In
every round IMB and `d5 bench collective --algorithm library-apart` run once each, in random order, in processes of
their own; both time rows of 20 calls in a row with separate buffers, on the slowest rank, and give the median over
rows. The intervals are those of the medians over rounds. IMB begins a row behind a barrier; ours puts the array back
and waits for a window. Goal: the intervals overlap from `--goal` bytes on. A call of ours also takes what Python needs
to call MPI (about 0.6 microseconds), which shows where the library itself needs less than ten times as much.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from statistics import median

from deep500.measure import compare, interval

PACKAGES = ("impi-rt==2021.18.1", "mpi4py==4.1.2")
SIZES = (8, 64, 1024, 8192, 65536, 524288, 1048576, 4194304)
CALLS = 20
LEAST_ROUNDS = 6
SECONDS = 2.0
IMB_ROWS = 100
# size, calls, and the times of the quickest and the slowest rank
ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+[\d.]+\s+([\d.]+)\s+[\d.]+", re.MULTILINE)
READ = """
import sys
import deep500 as d5

for cell in d5.load(sys.argv[1]).derived.cells:
    print("cell", cell.bytes, cell.seconds.value)
"""


def environment(folder: Path) -> dict[str, str]:
    """The variables under which Intel's library finds its parts; everything stays on this machine."""
    lib = folder / "lib"
    settings = {
        "I_MPI_ROOT": str(folder),
        "LD_LIBRARY_PATH": f"{lib}:{lib}/libfabric",
        "FI_PROVIDER_PATH": f"{lib}/libfabric",
        "I_MPI_FABRICS": "shm",
        "I_MPI_HYDRA_BOOTSTRAP": "fork",
        "DEEP500_HOME": str(folder / "home"),
    }
    return {**os.environ, **settings}


def prepare(folder: Path) -> None:
    """The environment, once; this project and its dependencies are taken from where they are."""
    if not (folder / "bin" / "IMB-MPI1").exists():
        venv.create(folder, with_pip=True)
        pip = [str(folder / "bin" / "pip"), "install", "-q", *PACKAGES]
        subprocess.run(pip, check=True, timeout=600)
    own = Path(sysconfig.get_path("purelib"))
    [site] = (folder / "lib").glob("python*/site-packages")
    # behind its own packages
    root = Path(__file__).parents[1]
    (site / "deep500_beside_imb.pth").write_text(f"{root}\n{own}\n")


def imb(folder: Path, ranks: int) -> dict[int, float]:
    """Seconds of a call by size, on the slowest rank: the median over rows of calls, as ours is."""
    lengths = folder / "lengths.txt"
    lengths.write_text("".join(f"{size}\n" for size in SIZES * IMB_ROWS))
    words = [str(folder / "bin" / "mpiexec"), "-n", str(ranks)]
    words += [str(folder / "bin" / "IMB-MPI1"), "Allreduce", "-npmin", str(ranks)]
    # without the policy "off", IMB chooses how often it calls, which may be once
    words += ["-msglen", str(lengths), "-iter", str(CALLS), "-iter_policy", "off"]
    words += ["-sync", "off"]
    rows: dict[int, list[float]] = {size: [] for size in SIZES}
    for found in ROW.finditer(run(words, folder)):
        size, calls, slowest = found.groups()
        if int(calls) != CALLS:
            raise SystemExit(f"IMB timed {calls} calls of {size} bytes, not {CALLS}")
        rows[int(size)].append(1e-6 * float(slowest))
    return {size: median(row) for size, row in rows.items()}


def ours(folder: Path, ranks: int, seed: int) -> dict[int, float]:
    out = folder / f"bundle-{os.getpid()}-{ranks}-{seed}"
    words = [str(folder / "bin" / "python"), "-m", "deep500.cli", "bench", "collective"]
    words += ["--algorithm", "library-apart", "--ranks", str(ranks), "--launches", "1"]
    words += ["--calls", str(CALLS), "--seconds", str(SECONDS), "--seed", str(seed)]
    words += ["--size", *map(str, SIZES), "--out", str(out)]
    run(words, folder)
    read = [str(folder / "bin" / "python"), "-c", READ, str(out)]
    rows = [line.split() for line in run(read, folder).splitlines()]
    return {int(row[1]): float(row[2]) for row in rows if row[:1] == ["cell"]}


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(
        words, env=environment(folder), capture_output=True, text=True, timeout=300
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words[:4])}: {done.stdout[-500:]}{done.stderr}")
    return done.stdout


def judge(size: int, theirs: list[float], own: list[float], goal: int) -> bool:
    """Print both intervals and the ratio; whether the goal is met."""
    spans = [interval([[value] for value in values]) for values in (theirs, own)]
    imb_span, own_span = spans
    overlap = imb_span.low <= own_span.high and own_span.low <= imb_span.high
    ratio = compare([[v] for v in theirs], [[v] for v in own], paired=True)
    texts = []
    for span in spans:
        low, middle, high = (1e6 * v for v in (span.low, span.estimate, span.high))
        texts.append(f"{middle:.2f} [{low:.2f}, {high:.2f}] us")
    verdict = "overlap" if overlap else "do not overlap"
    word = "" if size >= goal else " (no goal)"
    print(
        f"{size:>8} B: IMB {texts[0]}, ours {texts[1]}, n = {len(own)} rounds: {verdict}{word}; "
        f"ours / IMB = {ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
    )
    return overlap or size < goal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=Path("/tmp/deep500-impi"))
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--goal", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.rounds < LEAST_ROUNDS:
        parser.error(f"--rounds {args.rounds}: an interval needs {LEAST_ROUNDS}")
    prepare(args.venv)
    order = random.Random(args.seed)
    theirs: dict[int, list[float]] = {size: [] for size in SIZES}
    own: dict[int, list[float]] = {size: [] for size in SIZES}
    for number in range(args.rounds):
        for judge_name in order.sample(["imb", "ours"], 2):
            if judge_name == "imb":
                found, into = imb(args.venv, args.ranks), theirs
            else:
                found, into = ours(args.venv, args.ranks, args.seed + number), own
            for size in SIZES:
                into[size].append(found[size])
    print(f"MPI_Allreduce of {PACKAGES[0]}, {args.ranks} ranks, two buffers")
    met = [judge(size, theirs[size], own[size], args.goal) for size in SIZES]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
