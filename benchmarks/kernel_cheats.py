"""Which kernels that cheat does the judge of a contest stop, and does it accuse an honest one?

    python benchmarks/kernel_cheats.py [--scanner "python -m kernelguard --api-mode"]

Every file of tests/contest/kernels is handed in and judged; so is the honest one beside it. With --scanner, a program
that reads a kernel from standard input and prints JSON with `should_filter` and `classification` is asked as well.
About two minutes. That honest kernels are not accused is a test: pytest tests/contest -m slow -k honest_kernel
"""

import argparse
import hashlib
import json
import shlex
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from scipy.stats import binomtest

from deep500.contest.definition import FORMAT, Contest, ContestFolder, create
from deep500.contest.judging import judge, waiting
from deep500.contest.submissions import submit

HERE = Path(__file__).parents[1] / "tests" / "contest"
PROBLEM = HERE / "problem.py"
HONEST = HERE / "honest_kernel.py"
# these only change clocks: they are stopped if the time that they hide is counted
FILTERS, DOUBTS, VALID = "filters", "doubts", "valid"
CLOCKS = {"clock_patched": 0.002, "clock_of_the_judge_patched": 0.002}


def problem_of(file: Path) -> Path:
    own = HERE / f"problem_of_{file.stem}.py"
    return own if own.exists() else PROBLEM


def opened(path: Path, problem: Path) -> ContestFolder:
    contest = Contest(
        format=FORMAT,
        name="kernels",
        recipe=hashlib.sha256(problem.read_bytes()).hexdigest(),
        divisions=("closed",),
        seeds=1,
        tier="small",
        threads=1,
        seconds=60.0,
        load_seconds=60.0,
        memory_mib=1024,
        processes=32,
        disk_mib=32,
        submission_kib=64,
        kind="kernel",
        visits=3,
        calls=25,
    )
    return create(path, problem, contest)


def outcome(folder: ContestFolder, file: Path) -> tuple[bool, str]:
    """Whether a kernel was stopped, and how."""
    submit(folder, file, file.stem, "closed")
    [line] = waiting(folder, file.stem)
    found = judge(folder, line)
    if not found.accepted:
        return True, f"{found.layer}: {found.reason}"
    assert found.bundle is not None
    took = json.loads((found.bundle / "derived.json").read_text())["submission_s"]
    hidden = CLOCKS.get(file.stem)
    if hidden is None:
        return False, "judged"
    return (
        took >= hidden,
        f"judged: {took * 1e3:.3g} ms, of which it hides {hidden * 1e3:g}",
    )


def scanned(scanner: str, file: Path) -> str:
    """What another program says of the file: that it filters or doubts it, or nothing."""
    if not scanner:
        return ""
    done = subprocess.run(
        shlex.split(scanner), input=file.read_bytes(), capture_output=True, timeout=60
    )
    answer = json.loads(done.stdout)
    if answer["should_filter"]:
        return FILTERS
    return "" if answer.get("classification", VALID) == VALID else DOUBTS


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scanner", default="")
    args = parser.parse_args()
    cheats = sorted((HERE / "kernels").glob("*.py"))
    stopped = 0
    words: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for file in [*cheats, HONEST]:
            folder = opened(Path(place) / file.stem, problem_of(file))
            is_stopped, how = outcome(folder, file)
            word = scanned(args.scanner, file)
            said = f"  the scanner {word} it" if word else ""
            print(f"{file.stem:28} {how[:70]}{said}")
            if file != HONEST:
                stopped += is_stopped
                words[word] += 1
            elif is_stopped:
                print("the honest kernel was accused")
    print(f"the judge stops {rate(stopped, len(cheats))}")
    if args.scanner:
        for word in (FILTERS, DOUBTS):
            print(f"the scanner {word} {rate(words[word], len(cheats))}")


def rate(count: int, of: int) -> str:
    interval = binomtest(count, of).proportion_ci()
    return f"{count} of {of} [{interval.low:.0%}, {interval.high:.0%}]"


if __name__ == "__main__":
    main()
