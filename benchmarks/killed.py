"""kill -9 at random moments, then resume: in how many of 20 runs are the final weights bit-identical?

    python benchmarks/killed.py [--framework NAME ...] [--runs N]

The recipe is that of tests/shipped_recipes/test_killed.py: Dropout, augmented data, a weighted sampler, a schedule of
the learning rate, and a worker process that reads ahead in every other run. A run is a forked process, so that the
framework is imported once: it is killed after a random number of blocks of its bundle and a random delay. The figure
to reach is 20 of 20 on each framework.
"""

import argparse
import importlib
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from shipped_recipes.test_killed import BLOCKS, RECIPE  # noqa: E402

from deep500 import bundle  # noqa: E402
from deep500.cli import main as d5  # noqa: E402
from deep500.frameworks import framework  # noqa: E402

FRAMEWORKS = ("reference", "onnxruntime", "pytorch", "jax")
WARM_UP = ("training.trainer", "recipe_runner", "results.recipe", "reports.html", "datasets.digits")


def started(words: list[str]) -> int:
    """`d5` with these words in a child that says nothing; its process id."""
    child = os.fork()
    if child:
        return child
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os._exit(d5(words))


def finished(words: list[str], folder: Path) -> dict[str, str]:
    """The hashes of the weights, once the run has come to its end."""
    _, status = os.waitpid(started(words), 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise SystemExit(f"d5 {' '.join(words)} ended with {code}")
    return dict(bundle.read(folder).files)


def killed(words: list[str], folder: Path, rng: random.Random) -> str:
    """Kill the run at a random moment; returns how far it was."""
    child = started(words)
    blocks, delay = rng.randrange(BLOCKS), rng.uniform(0, 0.05)
    chain = folder / "samples.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and os.waitpid(child, os.WNOHANG) == (0, 0):
        if chain.exists() and chain.read_bytes().count(b"\n") > blocks:
            time.sleep(delay)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            break
        time.sleep(0.001)
    lines = chain.read_bytes().count(b"\n") if chain.exists() else 0
    return f"after {max(lines - 1, 0)} of {BLOCKS} blocks"


def identical_runs(name: str, runs: int, place: Path) -> int:
    """How many of the killed and resumed runs end with the weights of one that nobody killed."""
    words = ["run", str(place / "recipe.py"), "--seeds", "2", "--framework", name, "--resume"]

    def written(folder: Path, workers: int) -> list[str]:
        text = RECIPE.replace("WORKERS", str(workers))
        (place / "recipe.py").write_text(text)
        return [*words, "--out", str(folder)]

    whole = place / f"{name}-whole"
    wanted = finished(written(whole, 0), whole)
    identical = 0
    for number in range(runs):
        folder = place / f"{name}-{number}"
        command = written(folder, number % 2)
        moment = killed(command, folder, random.Random(f"{name} {number}"))
        same = finished(command, folder) == wanted
        identical += same
        print(f"  {name} run {number}: killed {moment}: {'identical' if same else 'DIFFERENT'}")
    return identical


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", nargs="+", default=FRAMEWORKS)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of JAX, about forks; nothing was computed before
    for module in WARM_UP:
        importlib.import_module(f"deep500.{module}")
    with TemporaryDirectory() as folder:
        os.environ["DEEP500_HOME"] = str(Path(folder) / "home")
        for name in args.framework:
            framework(name).require()
            identical = identical_runs(name, args.runs, Path(folder))
            print(f"{name}: {identical} of {args.runs} runs end in identical weights", flush=True)


if __name__ == "__main__":
    main()
