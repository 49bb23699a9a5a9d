"""d5.simulate with recipes and programs; the Slurm template by a dry run; ranks with different recipes."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.transport import Compute, Program, all_reduce
from deep500.distributed.launching import launch, python_command

ROOT = Path(__file__).parents[2]
RECIPE = d5.Recipe(
    "digits",
    {"model": d5.networks.Mlp(hidden=(8,)), "dataset": "digits", "epochs": 2},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)


def test_a_recipe_is_simulated_by_a_scheme() -> None:
    network = d5.LogGP(L=1e-3, o=0, g=0, G=0)
    run = d5.simulate(
        d5.schemes.AllReduce(), RECIPE, 4, network, compute=1e-3, update=0.005
    )
    assert run.history is not None
    steps = run.history.steps
    # a rank has a quarter of every batch; an allreduce of 4 ranks takes 4 latencies
    parts = [math.ceil(batch / 4) for batch in run.history.series["batch"]]
    backprop = 1e-3 * sum(parts)
    assert run.seconds == pytest.approx(backprop + steps * (0.005 + 0.004))
    assert run.waited[0] == pytest.approx(steps * 0.004)
    assert run.messages == dict.fromkeys(range(4), steps)
    assert all(
        np.array_equal(run.results[0][n], run.results[3][n]) for n in run.results[0]
    )
    again = d5.simulate(
        d5.schemes.AllReduce(), RECIPE, 4, network, compute=1e-3, update=0.005
    )
    assert again.history is not None and again.history.losses == run.history.losses
    other = d5.simulate(d5.schemes.AllReduce(), RECIPE, ranks=4, seed=2)
    assert other.history is not None and other.history.losses != run.history.losses


def test_a_slow_rank_holds_all_up() -> None:
    def program(rank: int, size: int) -> Program:
        yield Compute(float)
        yield from all_reduce(np.ones(3))

    free = d5.LogGP(L=0, o=0, g=0, G=0)
    run = d5.simulate(None, program, ranks=3, network=free, compute=1.0, speed={1: 5.0})
    assert run.seconds == 5.0 and run.waited == {0: 4.0, 1: 0.0, 2: 4.0}


def test_half_of_the_batch_takes_half_of_the_time() -> None:
    free = d5.LogGP(L=0, o=0, g=0, G=0)
    seconds = {}
    for ranks in (1, 2, 4):
        run = d5.simulate(
            d5.schemes.AllReduce(), RECIPE, ranks, free, compute=1e-3, update=0.0
        )
        assert run.history is not None
        seconds[ranks] = math.fsum(
            1e-3 * math.ceil(batch / ranks) for batch in run.history.series["batch"]
        )
        assert run.seconds == pytest.approx(seconds[ranks])
    assert seconds[1] == pytest.approx(2 * seconds[2], rel=0.01)


def test_a_period_saves_communication_and_no_computation() -> None:
    free = d5.LogGP(L=0, o=0, g=0, G=0)
    seconds = []
    for scheme in (d5.schemes.AllReduce(), d5.schemes.LocalSGD(period=4)):
        run = d5.simulate(scheme, RECIPE, 4, free, compute=1e-3, update=1e-4)
        seconds.append(run.seconds)
    assert seconds[0] == pytest.approx(seconds[1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"compute": -1}, "compute=-1 is no duration"),
        ({"compute": float("nan")}, "compute=nan is no duration"),
        ({"compute": "fast"}, "compute='fast' is no duration"),
        ({"update": -0.1}, "update=-0.1 is no duration"),
        ({"speed": {9: 2}}, "speed names rank 9, and there are 4 ranks"),
        ({"speed": [1, 1, 1, 1, 1]}, "speed names rank 4, and there are 4 ranks"),
        ({"speed": {0: -1}}, "speed of rank 0 is -1: give how many times"),
        ({"speed": {0: 0}}, "speed of rank 0 is 0: give how many times"),
        ({"speed": "slow"}, "speed of rank 0 is 's'"),
        ({"speed": 2}, "speed=2 says nothing about ranks"),
        ({"kill": {9: 3}}, "kill names rank 9, and there are 4 ranks"),
        ({"kill": {1: -3}}, "kill of rank 1 is -3: give the number of its"),
        ({"kill": 3}, "kill=3 names no ranks"),
        ({"network": "ib"}, "'ib' is no model of a network: give one"),
        ({"ranks": 0}, "0 virtual ranks cannot be run"),
        ({"ranks": "8"}, "'8' virtual ranks cannot be run: ranks is a whole"),
        ({"epochs": "2"}, "epochs='2': give a whole number from 1 up"),
        ({"seed": -1}, "seed=-1: give a whole number from 0 up"),
        ({"seed": 1.5}, "seed=1.5: give a whole number from 0 up"),
    ],
)
def test_impossible_machines_are_refused_in_one_line(
    settings: dict[str, Any], message: str
) -> None:
    arguments = {"ranks": 4, **settings}
    with pytest.raises(d5.Deep500Error, match=re.escape(message)) as refused:
        d5.simulate(d5.schemes.AllReduce(), RECIPE, **arguments)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("scheme", ["AllReduce", d5.schemes.AllReduce])
def test_a_scheme_is_simulated_by_its_text_and_its_class(scheme: Any) -> None:
    wanted = d5.simulate(d5.schemes.AllReduce(), RECIPE, ranks=2)
    run = d5.simulate(scheme, RECIPE, ranks=2)
    assert run.history is not None and wanted.history is not None
    assert run.history.losses == wanted.history.losses


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (5, "5 is no scheme: give one, or its text, such as LocalSGD"),
        (dict, "<class 'dict'> is no scheme"),
        ("AllReduc", "no scheme is named 'AllReduc'. Did you mean"),
        (d5.codecs.Sign(), "is no scheme"),
    ],
)
def test_what_is_no_scheme_is_refused_in_one_line(scheme: Any, message: str) -> None:
    for subject in (RECIPE, lambda communication: None):
        with pytest.raises(d5.Deep500Error, match=re.escape(message)) as refused:
            d5.simulate(scheme, subject, ranks=2)
        assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda ranks: ranks.all_reduce([1.0], op="prod"),
            "op='prod': give one of sum, max, min",
        ),
        (
            lambda ranks: ranks.all_reduce([1.0], op=[]),
            "op=[]: give one of sum, max, min",
        ),
        (lambda ranks: ranks.broadcast([1.0], root=7), "root=7: give a rank from 0 to"),
        (
            lambda ranks: ranks.broadcast([1.0], root=-1),
            "root=-1: give a rank from 0 to",
        ),
        (
            lambda ranks: ranks.all_reduce(["a", "b"]),
            "['a', 'b'] is no array of numbers",
        ),
        (
            lambda ranks: ranks.all_gather([[1], [1, 2]]),
            "[[1], [1, 2]] is no array of numbers",
        ),
        (
            lambda ranks: ranks.reduce_from_neighbors(None),
            "None is no array of numbers",
        ),
    ],
)
def test_an_impossible_exchange_is_refused_on_any_number_of_ranks(
    call: Any, message: str, ranks: int
) -> None:
    with pytest.raises(d5.Deep500Error, match=re.escape(message)) as refused:
        d5.simulate(None, call, ranks=ranks)
    assert len(str(refused.value).splitlines()) == 1


def test_one_rank_refuses_what_many_do() -> None:
    alone: Any = d5.communication()
    for wrong in ({"op": "prod"}, {"array": ["a"]}):
        with pytest.raises(d5.Deep500Error):
            alone.all_reduce(**{"array": [1.0], **wrong})
    with pytest.raises(d5.Deep500Error, match="root=7: give a rank from 0 to 0"):
        alone.broadcast([1.0], root=7)
    assert alone.all_reduce([1.0, 2.0], op="max").tolist() == [1.0, 2.0]


def test_a_recipe_needs_a_scheme() -> None:
    with pytest.raises(d5.Deep500Error, match="give one, as in"):
        d5.simulate(None, RECIPE, ranks=2)


def test_a_rank_that_dies_is_named() -> None:
    with pytest.raises(d5.Deep500Error, match="rank 2 is lost"):
        d5.simulate(d5.schemes.AllReduce(), RECIPE, ranks=4, kill={2: 40})


def test_the_slurm_template_starts_what_it_should(tmp_path: Path) -> None:
    """A dry run: srun is a script that says how it was called."""
    srun = tmp_path / "srun"
    srun.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    srun.chmod(0o755)
    env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SLURM_NTASKS": "8"}
    env |= {"SLURM_JOB_ID": "17"}
    script = ROOT / "examples" / "distributed.sbatch"
    done = subprocess.run(
        ["bash", str(script)],
        env=env,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=60,
    )
    words = done.stdout.split()
    assert done.returncode == 0 and words[:4] == [
        "--kill-on-bad-exit=1",
        "d5",
        "run",
        "digits_cnn_distributed",
    ]
    from deep500.cli import parser

    args = parser().parse_args(words[2:])
    assert (args.ranks, args.transport, args.resume) == (8, "mpi", True)
    assert str(args.out) == f"{tmp_path}/deep500-17"


MISMATCH = """
import os, sys
import deep500 as d5
from deep500.distributed.recipe_ranks import RecipeRanks
from deep500.distributed.distribution import Distribution

rank = int(os.environ["PMI_RANK"])
recipe = d5.Recipe(
    "digits",
    {"model": "mlp", "dataset": "digits", "epochs": 2 + rank},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)
try:
    RecipeRanks(recipe, Distribution(2, "mpi", d5.schemes.AllReduce()), 60.0)
except d5.Deep500Error as error:
    os.write(1, f"refused: {error}\\n".encode())  # at once: ranks share this output
    sys.exit(2)
"""


def test_ranks_with_different_recipes_are_refused() -> None:
    env = {"PYTHONPATH": str(ROOT)}
    done = launch(python_command("-c", MISMATCH), 2, "mpi", capture=True, env=env)
    assert done.code == 2, done.output
    assert done.output.count("refused: rank 1 has the recipe") == 2


@pytest.mark.slow
def test_a_port_in_use_and_a_missing_rank_are_errors(tmp_path: Path) -> None:
    """A rank that never comes is named within the deadline."""
    code = (
        "import deep500 as d5, sys\n"
        "try: d5.communication('torch', deadline=3.0)\n"
        "except d5.Deep500Error as error: print(error); sys.exit(2)\n"
    )
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        env = {
            "RANK": "0",
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        env = os.environ | env | {"PYTHONPATH": str(ROOT)}
        run = [sys.executable, "-c", code]
        used = subprocess.run(run, env=env, capture_output=True, text=True, timeout=120)
    assert used.returncode == 2, used.stderr
    assert "MASTER_PORT if it is in use" in used.stdout
    alone = subprocess.run(run, env=env, capture_output=True, text=True, timeout=120)
    assert alone.returncode == 2, alone.stderr
    assert (
        "rank 1 did not come within 3 s" in alone.stdout
        or "cannot start" in alone.stdout
    )


def test_too_many_ranks_are_refused_before_networks_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from deep500.contracts.dataset_splits import loaded_splits
    from deep500.distributed import recipe_ranks
    from deep500.distributed.distribution import Distribution
    from deep500.training.building import recipe_dataset, recipe_task

    recipe = d5.Recipe(
        "digits",
        {"model": "mlp", "dataset": "digits", "epochs": 1},
        {
            "batch_size": 64,
            "executor": "reference",
            "optimizer": d5.optimizers.SGD(0.1),
        },
        [(d5.TestAccuracy(), None)],
    )
    monkeypatch.setattr(
        recipe_ranks, "recipe_executor", None
    )  # which must not be called
    ranks = recipe_ranks.RecipeRanks(
        recipe, Distribution(5000, "virtual", d5.schemes.AllReduce())
    )
    splits = loaded_splits(recipe_dataset(recipe))
    with pytest.raises(d5.Deep500Error, match="give at most 1079 ranks"):
        ranks.trainer(recipe_task(recipe), splits, 0, 1, None, [])
