"""How many threads the warning about a busy machine counts: those that will really compute at once."""

import pytest

from deep500.bench import threads
from deep500.cli import options, parser
from deep500.cli.run import busy_threads, changed_recipe
from deep500.rerun.recipe_files import load_recipe

RANKS = ("--ranks", "5", "--transport")


@pytest.mark.parametrize(
    ("words", "threads"),
    [
        ((), 1),
        (("--threads", "3"), 3),
        ((*RANKS, "virtual"), 1),
        ((*RANKS, "mpi"), 5),
        ((*RANKS, "torch", "--threads", "2"), 10),
    ],
)
def test_threads_of_a_recipe(words, threads):
    args = parser().parse_args(["run", "digits_mlp", *words])
    recipe = changed_recipe(load_recipe(args.recipe), args)
    assert busy_threads(args, recipe) == threads


def test_threads_of_frameworks():
    assert threads.busy_threads(1, ["reference", "pytorch"]) == 1
    assert threads.busy_threads(0, ["reference"]) == options.cpus()
