"""Communication graphs: symmetric, doubly stochastic, with the spectral gaps of the literature."""

import math

import numpy as np
import pytest

from deep500 import registry
from deep500.contracts.topology import Topology
from deep500.topologies.complete import Complete
from deep500.topologies.ring import Ring
from deep500.topologies.torus import Torus

EVERY = [registry.find("topologies", name)() for name in registry.known("topologies")]


@pytest.mark.parametrize("topology", EVERY, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 12, 16])
def test_mixing_is_symmetric_and_doubly_stochastic(
    topology: Topology, size: int
) -> None:
    matrix = topology.mixing_matrix(size)
    np.testing.assert_allclose(matrix, matrix.T)
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    assert (matrix >= 0).all() and (np.diag(matrix) > 0).all()
    assert 0 < topology.spectral_gap(size) <= 1
    for rank in range(size):
        neighbors = topology.neighbors(rank, size)
        assert rank not in neighbors and len(set(neighbors)) == len(neighbors)
        for other in neighbors:
            assert rank in topology.neighbors(other, size)


@pytest.mark.parametrize("size", [4, 5, 8, 16, 33])
def test_the_gap_of_a_ring_is_that_of_the_formula(size: int) -> None:
    """Eigenvalues of a ring with weights of a third are (1 + 2 cos(2 pi k / P)) / 3."""
    second = max(
        abs(1 + 2 * math.cos(2 * math.pi * k / size)) / 3 for k in range(1, size)
    )
    assert Ring().spectral_gap(size) == pytest.approx(1 - second)


def test_the_complete_graph_has_a_gap_of_1() -> None:
    assert Complete().spectral_gap(9) == pytest.approx(1)


def test_richer_graphs_mix_faster() -> None:
    gaps = [topology.spectral_gap(64) for topology in (Ring(), Torus())]
    exponential = registry.find("topologies", "Exponential")().spectral_gap(64)
    assert gaps[0] < gaps[1] < exponential < 1


class OneWay(Topology):
    """A planted error: rank 0 has neighbors that do not know of it."""

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        return (1, 2) if rank == 0 else ()


def test_a_graph_that_is_not_symmetric_is_seen() -> None:
    matrix = OneWay().mixing_matrix(3)
    assert not np.allclose(matrix, matrix.T) and not np.allclose(matrix.sum(axis=0), 1)
