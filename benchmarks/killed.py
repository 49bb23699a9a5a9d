"""kill -9 at random moments, then resume: in how many of 20 runs are the final weights bit-identical?

    python benchmarks/killed.py [--framework NAME ...] [--runs N] [--first K]

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
from deep500.frameworks import framework  # noqa: E402
from deep500.rerun.recipe_files import load_recipe  # noqa: E402
from deep500.rerun.recipe_runner import run  # noqa: E402

FRAMEWORKS = ("reference", "onnxruntime", "pytorch", "jax")
WARM_UP = ("deep500.training.trainer", "deep500.results.recipe", "sklearn.datasets")
SEEDS = 2


def started(recipe: Path, name: str, folder: Path) -> int:
    """The recipe's run, begun or resumed in a child that says nothing; its process id."""
    child = os.fork()
    if child:
        return child
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    settings = {"executor": framework(name).from_model}
    run(load_recipe(recipe).with_settings(settings), folder, seeds=SEEDS, resume=True)
    os._exit(0)


def finished(recipe: Path, name: str, folder: Path) -> dict[str, str]:
    """The hashes of the weights, once the run has come to its end."""
    _, status = os.waitpid(started(recipe, name, folder), 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        raise SystemExit(f"the run in {folder} ended with {code}")
    return dict(bundle.read(folder).files)


def killed(recipe: Path, name: str, folder: Path, rng: random.Random) -> str:
    """Kill the run at a random moment; returns how far it was."""
    child = started(recipe, name, folder)
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


def identical_runs(name: str, numbers: range, place: Path) -> int:
    """How many of the killed and resumed runs end with the weights of one that nobody killed."""
    recipes = []
    for workers in (0, 1):
        path = place / f"recipe{workers}.py"
        path.write_text(RECIPE.replace("WORKERS", str(workers)))
        recipes.append(path)
    wanted = finished(recipes[0], name, place / f"{name}-whole")
    identical = 0
    for number in numbers:
        folder, recipe = place / f"{name}-{number}", recipes[number % 2]
        moment = killed(recipe, name, folder, random.Random(f"{name} {number}"))
        same = finished(recipe, name, folder) == wanted
        identical += same
        print(
            f"  {name} run {number}: killed {moment}: {'identical' if same else 'DIFFERENT'}"
        )
    return identical


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--framework", nargs="+", default=FRAMEWORKS)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument(
        "--first", type=int, default=0, help="the number of the first run (0)"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of JAX, about forks; nothing was computed before
    for module in WARM_UP:
        importlib.import_module(module)
    with TemporaryDirectory() as folder:
        os.environ["DEEP500_HOME"] = str(Path(folder) / "home")
        for name in args.framework:
            framework(name).require()
            numbers = range(args.first, args.first + args.runs)
            identical = identical_runs(name, numbers, Path(folder))
            print(
                f"{name}: {identical} of {args.runs} runs end in identical weights",
                flush=True,
            )


if __name__ == "__main__":
    main()
