"""One program for all transports: schemes on real MPI and gloo ranks give what they give on virtual ones."""

from pathlib import Path

import numpy as np
import pytest

from deep500.definition_text import scheme_of
from deep500.distributed.launching import launch, python_command
from tests.distributed.training import distributed

ROOT = Path(__file__).parents[2]
RANKS = 3
# Messages from rank to rank alone: the same bits on every transport
SAME_BITS = [
    "ParameterServer",
    "HierarchicalParameterServer",
    "PairwiseGossip",
    "PushSum",
    "DPSGD(topology=Ring())",
]
# The engine's own collectives may add in another order
WITHIN_ROUNDING = [
    "StaleAllReduce(staleness=2)",
    "LocalSGD(period=2)",
    "ElasticAveraging(alpha=0.2)",
]
# Who comes first differs from run to run
ANY_ORDER = [
    "ParameterServer(staleness=1)",
    "ParameterServer(staleness=None,servers=2)",
    "AsyncElasticAveraging",
    "Ensemble",
    "Hogwild",
]


def launched(
    folder: Path, transport: str, texts: list[str]
) -> dict[tuple[int, str], np.ndarray]:
    """The parameters after training, by rank and scheme."""
    env = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = python_command(
        "-m", "tests.schemes.ranks", transport, str(folder), *texts
    )
    done = launch(command, RANKS, transport, grace=8, capture=True, env=env)
    assert done.code == 0, done.output
    params = {}
    for rank in range(RANKS):
        for number, text in enumerate(texts):
            bits = (folder / f"{rank}-{number}").read_bytes()
            params[rank, text] = np.frombuffer(bits, np.float32)
    return params


def virtual(text: str) -> dict[int, np.ndarray]:
    run = distributed(scheme_of(text), RANKS)
    run.run()
    params = {}
    for rank, replica in run.replicas.items():
        arrays = replica.executor.arrays().values()
        params[rank] = np.concatenate([value.ravel() for value in arrays])
    return params


@pytest.mark.parametrize(
    "transport", ["mpi", pytest.param("torch", marks=pytest.mark.slow)]
)
def test_schemes_give_on_real_ranks_what_they_give_on_virtual_ones(
    tmp_path: Path, transport: str
) -> None:
    params = launched(tmp_path, transport, [*SAME_BITS, *WITHIN_ROUNDING, *ANY_ORDER])
    assert len(params) == RANKS * (
        len(SAME_BITS) + len(WITHIN_ROUNDING) + len(ANY_ORDER)
    )
    for text in SAME_BITS:
        for rank, wanted in virtual(text).items():
            assert params[rank, text].tobytes() == wanted.tobytes(), (text, rank)
    for text in WITHIN_ROUNDING:
        for rank, wanted in virtual(text).items():
            np.testing.assert_allclose(
                params[rank, text], wanted, atol=1e-5, err_msg=text
            )
    assert all(np.isfinite(values).all() for values in params.values())
