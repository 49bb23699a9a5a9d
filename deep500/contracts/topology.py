"""The topology contract: which ranks average with which, and with what weights."""

import math

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Topology(Definition):
    """An undirected graph over all ranks.

    neighbors(rank, size)   The other ranks that a rank exchanges parameters with, each once.
    check(size)              Raises a Deep500Error if there is no such graph over so many ranks.

    Weights are those of Metropolis and Hastings, so that the mixing matrix is symmetric and doubly stochastic on every
    graph, regular or not, and every rank keeps a positive weight for its own parameters.
    """

    def neighbors(self, rank: int, size: int) -> tuple[int, ...]:
        raise lacking(self, "neighbors")

    def check(self, size: int) -> None:
        """By default every number of ranks is accepted."""

    def weights(self, rank: int, size: int) -> dict[int, float]:
        """The weight of every neighbor's parameters and of one's own, by rank; their sum is 1."""
        neighbors = self.neighbors(rank, size)
        weights = {}
        for other in neighbors:
            degree = max(len(neighbors), len(self.neighbors(other, size)))
            weights[other] = 1 / (degree + 1)
        weights[rank] = 1 - sum(weights.values())
        return weights

    def mixing_matrix(self, size: int) -> np.ndarray:
        """Row r holds the weights of rank r."""
        matrix = np.zeros((size, size))
        for rank in range(size):
            for other, weight in self.weights(rank, size).items():
                matrix[rank, other] = weight
        return matrix

    def spectral_gap(self, size: int) -> float:
        """1 minus the second largest magnitude of an eigenvalue: 1 averages at once, 0 never reaches consensus."""
        if size == 1:
            return 1.0
        eigenvalues = np.linalg.eigvalsh(self.mixing_matrix(size))
        magnitudes = np.sort(np.abs(eigenvalues))
        return float(1 - magnitudes[-2])


def distinct(rank: int, candidates: list[int]) -> tuple[int, ...]:
    """The candidates in order, without repetitions and without the rank itself."""
    others = [other for other in candidates if other != rank]
    return tuple(dict.fromkeys(others))


def grid_rows(name: str, rows: int | None, size: int) -> int:
    """The rows of a grid of so many ranks: those that were asked for, or the largest divisor up to the root."""
    if rows is None:
        rows = math.isqrt(size)
        while size % rows:
            rows -= 1
    elif rows < 1 or size % rows:
        raise Deep500Error(
            f"a {name} with {rows} rows cannot hold {size} ranks: give a divisor of {size}, or leave `rows` out"
        )
    return rows
