"""The talks' ConsistentNeighbors as it stands, and d5.communication."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.distributed.communication import Communication, launched_by, launched_rank
from deep500.distributed.launching import launch, python_command
from deep500.errors import Deep500Error

from .consistent_neighbors import ConsistentNeighbors, train

HERE = Path(__file__).parent


def by_hand(size: int) -> list[np.ndarray]:
    """The same training in float64: gradients of both neighbours and one's own, averaged, then momentum."""
    params = []
    for _ in range(size):
        params.append(
            [
                np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3).astype(float),
                np.zeros(3),
            ]
        )
    velocity = [[np.zeros((6, 3)), np.zeros(3)] for _ in range(size)]
    data = [np.random.default_rng(rank) for rank in range(size)]
    for _ in range(4):
        gradients = []
        for rank in range(size):
            x = data[rank].standard_normal((8, 6)).astype(np.float32).astype(float)
            label = data[rank].integers(0, 3, 8)
            logits = x @ params[rank][0] + params[rank][1]
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(8), label] -= 1
            gradients.append([x.T @ p / 8, p.sum(axis=0) / 8])
        for rank in range(size):
            around = [rank, (rank - 1) % size, (rank + 1) % size]
            for i in (0, 1):
                mixed = sum(gradients[other][i] for other in around) / 3
                velocity[rank][i] = 0.9 * velocity[rank][i] + mixed
                params[rank][i] = params[rank][i] - 0.1 * velocity[rank][i]
    return [np.concatenate([w.ravel(), b]) for w, b in params]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_printed_class_runs_on_virtual_ranks(size: int) -> None:
    done = d5.simulate(None, train, ranks=size)
    for rank, wanted in enumerate(by_hand(size)):
        params = np.concatenate([p.ravel() for p in done.results[rank]])
        assert np.allclose(params, wanted, atol=1e-6)
    if size > 1:
        assert done.messages[0] == 4 * 2 * 2  # steps, parameters, neighbours
        assert done.bytes[0] == 4 * 2 * (18 + 3) * 4


def test_its_replicas_drift_apart() -> None:
    """It mixes gradients: what D-PSGD mixes is parameters."""
    results = d5.simulate(None, train, ranks=4).results
    first, other = results[0][0], results[2][0]
    assert np.abs(first - other).max() > 1e-3
    averaged = d5.simulate(
        None, lambda c: train(c, kind=d5.DistributedOptimizer), ranks=4
    ).results
    assert np.array_equal(averaged[0][0], averaged[2][0])


def test_it_runs_alone_without_a_launcher() -> None:
    params = np.concatenate([p.ravel() for p in train(d5.communication())])
    assert np.allclose(params, by_hand(1)[0], atol=1e-6)


def test_what_is_no_program_is_named() -> None:
    comm = d5.communication()
    wrong: list[Any] = [3, iter([3]), comm.barrier]
    for program in wrong:
        with pytest.raises(d5.Deep500Error, match="is no program: give a generator"):
            comm.run(program)


@pytest.mark.parametrize(
    ("transport", "engine"), [("mpi", "reference"), ("torch", "pytorch")]
)
def test_it_runs_on_real_ranks_to_the_same_bits(transport: str, engine: str) -> None:
    words = [str(HERE / "consistent_neighbors.py"), transport, engine]
    env = {"PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"}
    done = launch(python_command(*words), 2, transport, capture=True, env=env)
    assert done.code == 0, done.output
    lines = [
        line.split() for line in done.output.splitlines() if line.startswith("params")
    ]
    virtual = d5.simulate(None, lambda c: train(c, engine), ranks=2).results
    assert sorted(int(rank) for _, rank, _ in lines) == [0, 1]
    for _, rank, bits in lines:
        wanted = np.concatenate([p.ravel() for p in virtual[int(rank)]])
        assert bytes.fromhex(bits) == wanted.tobytes()


def test_an_error_in_a_users_step_comes_out() -> None:
    class Broken(ConsistentNeighbors):
        def step(self, inputs):
            self.communication.barrier()
            raise ZeroDivisionError("my mistake")

    with pytest.raises(ZeroDivisionError, match="my mistake"):
        d5.simulate(None, lambda c: train(c, kind=Broken), ranks=3)


def test_calls_of_a_communication() -> None:
    def program(communication: Communication) -> list:
        rank = communication.rank
        total = communication.all_reduce([rank, 1.0])
        parts = communication.all_gather(np.full(rank, rank))
        shared = communication.broadcast(np.array([rank]), root=1)
        communication.barrier()
        return [total.tolist(), [p.tolist() for p in parts], shared.tolist()]

    results = d5.simulate(None, program, ranks=3).results
    assert all(
        result == [[3.0, 3.0], [[], [1], [2, 2]], [1]] for result in results.values()
    )


@pytest.mark.parametrize(
    ("variables", "transport", "rank"),
    [
        ({}, None, 0),
        ({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a"}, "torch", 1),
        ({"PMI_RANK": "3"}, "mpi", 3),
        ({"OMPI_COMM_WORLD_RANK": "2"}, "mpi", 2),
        ({"SLURM_PROCID": "5", "SLURM_NTASKS": "8"}, "mpi", 5),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None, 0),
    ],
)
def test_the_launcher_is_detected(
    variables: dict, transport: str | None, rank: int
) -> None:
    assert launched_by(variables) == transport
    assert launched_rank(variables) == rank


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(Deep500Error, match="neither a d5.Recipe nor a program"):
        d5.simulate(None, 3, ranks=2)  # type: ignore[arg-type]


MISMATCHES = {
    "all_reduce": r"AllReduce\(float32, \[2, 3\], sum\) on rank 0 and AllReduce",
    "all_gather": r"AllGather\(float32, \[2, 3\]\) on rank 0 and AllGather",
    "broadcast": r"Broadcast\(float32, \[2, 3\], 0\) on rank 0 and Broadcast",
    "reduce_from_neighbors": r"expects float32\[2, .\] from rank . \(tag .\), which sent",
    "root": r"Broadcast\(float32, \[2, 3\], 0\) on rank 0 and Broadcast",
}
QUICK = {("all_reduce", "torch"), ("reduce_from_neighbors", "mpi")}


@pytest.mark.parametrize(
    ("method", "transport"),
    [
        pytest.param(
            method,
            transport,
            marks=[] if (method, transport) in QUICK else [pytest.mark.slow],
        )
        for method in MISMATCHES
        for transport in ("mpi", "torch")
    ],
)
def test_other_shapes_are_one_line_of_a_script(method: str, transport: str) -> None:
    env = {"PYTHONPATH": str(HERE.parents[1]), "OMP_NUM_THREADS": "1"}
    command = python_command(str(HERE / "mismatched.py"), method)
    done = launch(command, 2, transport, capture=True, env=env)
    assert done.code not in (0, None)
    [line] = [line for line in done.output.splitlines() if line.startswith("d5: ")]
    assert re.search(MISMATCHES[method], line)
    assert "in <module> (mismatched.py, line" in line
    assert "Traceback" not in done.output
