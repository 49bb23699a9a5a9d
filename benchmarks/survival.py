"""kill -9 at random moments of `d5 bench`, and flipped bytes in finished bundles: does verify tell the truth?

python benchmarks/survival.py [--kills 30] [--flips 100] [--seed 0]
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deep500 import measure
from deep500.bundle.records.ledger import Ledger
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error


def kills(number: int, rng: random.Random, folder: Path) -> None:
    env = os.environ | {"DEEP500_HOME": str(folder / "home")}
    clean = unfinished = blocks = nothing = 0
    for i in range(number):
        run = folder / f"run{i}"
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "deep500.cli",
                "bench",
                "sum(range(5000))",
                "--precision",
                "1e-6",
                "--budget",
                "30",
                "--out",
                str(run),
            ],
            env=env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0.2, 3.0))
        process.kill()
        process.wait()
        if not run.exists():
            nothing += 1  # killed before the bundle was begun
            continue
        try:
            found = verify(run)
        except Deep500Error as error:
            print(f"kill {i}: {error}")
            continue
        clean += found.ok and not found.finished
        blocks += found.blocks
    states = [r.state for r in Ledger(folder / "home" / "ledger.sqlite").runs()]
    unfinished = states.count("unfinished")
    print(
        f"kill -9: {clean} of {number - nothing} bundles are a clean prefix ({blocks} blocks in all; {nothing} were "
        f"killed before the bundle was begun); the ledger names {unfinished} of {len(states)} runs as unfinished"
    )


def flips(number: int, rng: random.Random, folder: Path) -> None:
    good = folder / "good"
    measure.run(
        {"a": "sum(range(500))", "b": "sum(range(600))"}, budget_s=1, folder=good
    )
    assert verify(good).ok
    files = sorted(good.iterdir())
    sizes = [f.stat().st_size for f in files]
    caught = 0
    for i in range(number):
        # Half of the flips by size, half by file: small files such as the manifest must not be missed.
        file = rng.choices(files, sizes)[0] if i % 2 else rng.choice(files)
        bad = folder / "bad"
        shutil.copytree(good, bad)
        data = bytearray((bad / file.name).read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (bad / file.name).write_bytes(data)
        try:
            caught += not verify(bad).ok
        except Deep500Error:
            caught += 1
        shutil.rmtree(bad)
    print(f"flipped bits: verify says no to {caught} of {number}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--flips", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        kills(args.kills, rng, Path(folder))
        flips(args.flips, rng, Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
