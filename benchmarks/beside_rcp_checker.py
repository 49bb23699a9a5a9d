"""Do `d5 audit` and MLPerf's RCP checker agree on convergence that is too fast?

    pip install mlperf-logging        # into an environment of its own
    python benchmarks/beside_rcp_checker.py --python OTHER/bin/python

For every benchmark of a version of MLPerf Training, submissions are drawn around its reference convergence points, at
their batch sizes and between them, up to 10 % faster and 2 % slower than the reference. Both judge the same files.
"""

import argparse
import json
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

import deep500 as d5
from deep500.logs.mlperf import IN_SAMPLES

# run by the other Python: the folder of the reference files, the runs that each benchmark asks for
ABOUT = """
import json, sys
from pathlib import Path
from mlperf_logging.rcp_checker import rcp_checker
print(json.dumps([str(Path(rcp_checker.__file__).parent), rcp_checker.submission_runs["training"]]))
"""
# run by the other Python: its verdicts on folders of logs
JUDGE = """
import contextlib, io, json, sys
from mlperf_logging.rcp_checker.rcp_checker import check_directory
for folder in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()):
        found = check_directory(folder, "training", sys.argv[1], False, False, None, "pruned_rcps")
    print(json.dumps([found[0], found[1]]))
"""
# the checker has a constant of its own for the first, and reads two qualities from logs of the second
SPECIAL = ("llama31_405b", "stable_diffusion")


def logged(key: str, value: object, **metadata: object) -> str:
    event = {"key": key, "value": value, "time_ms": 0, "metadata": metadata}
    return f":::MLLOG {json.dumps(event)}"


def write_submission(
    folder: Path, benchmark: str, batch: int, needed: Sequence[float]
) -> None:
    folder.mkdir(parents=True)
    counted = "samples_count" if benchmark in IN_SAMPLES else "epoch_num"
    for number, value in enumerate(needed):
        lines = [
            logged("submission_benchmark", benchmark),
            logged("global_batch_size", batch),
            logged("eval_accuracy", 1.0, **{counted: value}),
            logged("run_stop", None, status="success"),
        ]
        (folder / f"result_{number}.txt").write_text("\n".join(lines) + "\n")


def batches(points: Sequence[dict[str, Any]]) -> list[int]:
    """The batch sizes of the reference, and those half-way between."""
    sizes = sorted({point["BS"] for point in points})
    between = [(low + high) // 2 for low, high in pairwise(sizes)]
    return sorted({*sizes, *between})


def submissions(
    files: Sequence[Path], runs: dict[str, int], each: int, place: Path
) -> Iterator[tuple[Path, Path]]:
    """Folders of logs, each with the file of its reference."""
    rng = random.Random(0)
    for file in files:
        benchmark = file.stem.removeprefix("rcps_")
        if benchmark in SPECIAL:
            continue
        points = list(json.loads(file.read_text()).values())
        key = next(key for key in points[0] if key.lower().endswith("to converge"))
        for batch in batches(points):
            nearest = min(points, key=lambda point: abs(point["BS"] - batch))
            for number in range(each):
                factor = rng.uniform(0.9, 1.02)
                drawn = [rng.choice(nearest[key]) for _ in range(runs[benchmark])]
                folder = place / f"{benchmark}-{batch}-{number}"
                needed = [round(value * factor, 3) for value in drawn]
                write_submission(folder, benchmark, batch, needed)
                yield folder, file


def ours(folder: Path, reference: Path) -> str:
    logs = sorted(folder.glob("result_*.txt"))
    [outcome] = d5.audit_sources(reference, *logs, rules=["N17"]).outcomes
    return outcome.verdict


def asked(python: str, code: str, *arguments: str, given: str = "") -> str:
    command = [python, "-c", code, *arguments]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=True
    )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True)
    parser.add_argument("--version", default="6.1.0")
    parser.add_argument("--each", type=int, default=20)
    args = parser.parse_args()
    place, runs = json.loads(asked(args.python, ABOUT))
    files = sorted(Path(place, f"training_{args.version}").glob("rcps_*.json"))
    with tempfile.TemporaryDirectory() as temporary:
        drawn = list(submissions(files, runs, args.each, Path(temporary)))
        folders = json.dumps([str(folder) for folder, _ in drawn])
        lines = asked(args.python, JUDGE, args.version, given=folders).splitlines()
        table: Counter[tuple[str, str]] = Counter()
        for (folder, reference), line in zip(drawn, lines, strict=True):
            passed, reason = json.loads(line)
            theirs = "passes" if passed else "too fast"
            if reason.startswith("Missing RCP"):
                theirs = "no reference"
            verdict = ours(folder, reference)
            table[theirs, verdict] += 1
            if (theirs == "too fast") != (verdict == "FAIL"):
                print(f"they differ: {folder.name}: theirs {theirs}, ours {verdict}")
    for (theirs, verdict), count in sorted(table.items()):
        print(f"{count:5}  theirs: {theirs:12} ours: {verdict}")
    same = sum(
        count
        for (theirs, verdict), count in table.items()
        if (theirs == "too fast") == (verdict == "FAIL")
    )
    interval = binomtest(same, table.total()).proportion_ci()
    print(f"agree: {same} of {table.total()} [{interval.low:.1%}, {interval.high:.1%}]")


if __name__ == "__main__":
    main()
