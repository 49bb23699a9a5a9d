"""Training on real MPI and gloo ranks: the bits of virtual ranks, and what happens when a rank is lost."""

import time
from pathlib import Path

import pytest

from deep500.contracts.layout import BUCKET_BYTES
from deep500.distributed.launching import Launched, launch, python_command
from deep500.schemes.all_reduce import AllReduce

from .training import distributed, network

ROOT = Path(__file__).parents[2]
FAILURES = [
    ("mpi", "kill"),
    pytest.param("mpi", "hang", marks=pytest.mark.slow),
    ("torch", "kill"),
    pytest.param("torch", "hang", marks=pytest.mark.slow),
]


def launched(
    output: Path,
    transport: str,
    ranks: int,
    *words: str,
    bucket_bytes: int = BUCKET_BYTES,
) -> Launched:
    env = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OUTPUT": str(output)}
    env["BUCKET_BYTES"] = str(bucket_bytes)
    command = python_command("-m", "tests.distributed.ranks", transport, *words)
    return launch(command, ranks, transport, grace=8, capture=True, env=env)


@pytest.mark.parametrize(
    ("transport", "ranks"),
    [
        ("mpi", 2),
        ("torch", 2),
        pytest.param("mpi", 4, marks=pytest.mark.slow),
        pytest.param("torch", 4, marks=pytest.mark.slow),
    ],
)
def test_real_ranks_train_to_the_bits_of_virtual_ranks(
    tmp_path: Path, transport: str, ranks: int
) -> None:
    """Two terms are added in one order only; more ranks may be added in another one."""
    import numpy as np

    done = launched(tmp_path, transport, ranks, "reference")
    assert done.code == 0, done.output
    run = distributed(AllReduce(), ranks, make=lambda: network(dropout=True))
    run.run()
    wanted = b"".join(value.tobytes() for value in run.executor.arrays().values())
    for rank in range(ranks):
        bits = (tmp_path / str(rank)).read_bytes()
        if ranks == 2:
            assert bits == wanted
        trained = np.frombuffer(bits, np.float32)
        assert np.allclose(trained, np.frombuffer(wanted, np.float32), atol=1e-6)


@pytest.mark.parametrize(("transport", "how"), FAILURES)
def test_a_lost_rank_is_named_within_the_deadline(
    tmp_path: Path, transport: str, how: str
) -> None:
    begin = time.monotonic()
    done = launched(tmp_path, transport, 2, "reference", "1", "3", how)
    assert done.code == 2, done.output
    assert "lost [1] steps 3: rank 1 is lost" in done.output
    assert time.monotonic() - begin < 120


def test_collectives_that_mpi_confuses_are_found_after_the_epoch() -> None:
    env = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = python_command("-m", "tests.distributed.known_forms", "mpi")
    done = launch(command, 2, "mpi", grace=8, capture=True, env=env)
    assert done.code == 2, done.output
    ours, theirs = (f"AllReduce(float64, [{length}], sum)" for length in (10, 11))
    message = f"collective number 7 is {ours} on rank 0 and {theirs} on rank 1"
    assert message in done.output
