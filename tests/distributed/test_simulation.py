"""d5.simulate with recipes and programs; the Slurm template by a dry run; ranks with different recipes."""

import os
import subprocess
import sys
from pathlib import Path

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
        d5.schemes.AllReduce(), RECIPE, ranks=4, network=network, compute=0.01
    )
    assert run.history is not None
    steps = run.history.steps
    # backprop and update take 10 ms each, an allreduce of 4 ranks 4 latencies
    assert run.seconds == pytest.approx(steps * (0.02 + 0.004))
    assert run.waited[3] == pytest.approx(steps * 0.004)
    assert run.messages == dict.fromkeys(range(4), steps)
    assert all(
        np.array_equal(run.results[0][n], run.results[3][n]) for n in run.results[0]
    )
    again = d5.simulate(
        d5.schemes.AllReduce(), RECIPE, ranks=4, network=network, compute=0.01
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
        timeout=20,
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
from deep500.distributed.crew import Crew
from deep500.distributed.distribution import Distribution

rank = int(os.environ["PMI_RANK"])
recipe = d5.Recipe(
    "digits",
    {"model": "mlp", "dataset": "digits", "epochs": 2 + rank},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)
try:
    Crew(recipe, Distribution(2, "mpi", d5.schemes.AllReduce()), 10.0)
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
