"""Real MPI and real gloo: the same program gives the same as on virtual ranks."""

import json
from pathlib import Path

import pytest

from deep500.distributed.launching import Launched, launch, python_command
from deep500.transports.virtual import Virtual

from .program import program

HERE = Path(__file__).parent


def launched(
    transport: str, ranks: int, script: str, *words: str, grace: float = 20
) -> Launched:
    """A script of this folder as ranks of a transport."""
    env = {"PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"}
    command = python_command(str(HERE / script), transport, *words)
    return launch(command, ranks, transport, grace=grace, capture=True, env=env)


@pytest.mark.parametrize("transport", ["mpi", "torch"])
@pytest.mark.parametrize(
    "ranks",
    [
        2,
        pytest.param(3, marks=pytest.mark.slow),
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
def test_real_ranks_do_what_virtual_ranks_do(transport: str, ranks: int) -> None:
    done = launched(transport, ranks, "program.py")
    assert done.code == 0, done.output
    lines = [
        json.loads(line) for line in done.output.splitlines() if line.startswith("[")
    ]
    virtual = Virtual(ranks)
    wanted = virtual.run(lambda rank: program(rank, ranks))
    assert sorted(rank for rank, _, _ in lines) == [*range(ranks)]
    for rank, results, traffic in lines:
        assert results == json.loads(json.dumps(wanted[rank]))
        assert traffic == virtual.traffic[rank].to_json()
