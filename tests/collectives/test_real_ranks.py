"""Collectives on real MPI and gloo ranks give the bits, and send the bytes, of virtual ranks."""

import json
from pathlib import Path

import pytest

from deep500.distributed.launching import launch, python_command
from deep500.transports.virtual import Virtual

from .ranks import program

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("transport", "ranks"),
    [
        ("mpi", 3),
        pytest.param("torch", 3, marks=pytest.mark.slow),
        pytest.param("mpi", 4, marks=pytest.mark.slow),
        pytest.param("torch", 4, marks=pytest.mark.slow),
    ],
)
def test_real_ranks_give_the_bits_of_virtual_ones(transport: str, ranks: int) -> None:
    env = {"PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"}
    command = python_command(str(HERE / "ranks.py"), transport)
    done = launch(command, ranks, transport, grace=20, capture=True, env=env)
    assert done.code == 0, done.output
    virtual = Virtual(ranks)
    wanted = virtual.run(lambda rank: program(rank, ranks))
    lines = [json.loads(line) for line in done.output.splitlines() if line[0] == "["]
    assert sorted(rank for rank, _, _ in lines) == [*range(ranks)]
    for rank, hashes, traffic in lines:
        for name, digest in wanted[rank].items():
            assert hashes[name] == digest, (rank, name)
        assert traffic == virtual.traffic[rank].bytes
