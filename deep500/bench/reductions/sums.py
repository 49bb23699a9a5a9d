"""Sums over ranks: the plain ones, and the reproducible ones."""

from collections.abc import Callable

import numpy as np

from ...contracts.reduction import ReproducibleReduction, sum_over_ranks
from ...contracts.transport import Program, all_reduce
from ...definition_text import definition_of
from ...reductions._native import plain_sum

NUMPY = "np.sum"
SIMD = "simd"
PLAIN: dict[str, Callable[[np.ndarray], float]] = {
    NUMPY: lambda values: float(values.sum()),
    SIMD: plain_sum,
}


def rank_numbers(length: int, dtype: str, rank: int) -> np.ndarray:
    """The numbers of one rank: of both signs, and of several magnitudes."""
    random = np.random.default_rng(rank)
    return (random.standard_normal(length) * random.random(length) ** 4).astype(dtype)


def local_sum(algorithm: str) -> Callable[[np.ndarray], float]:
    """The sum of an array."""
    if algorithm in PLAIN:
        return PLAIN[algorithm]
    return reduction_of(algorithm).sum


def global_sum(algorithm: str, values: np.ndarray, first: int) -> Program:
    """The sum of all ranks' numbers: a plain one ends with the engine's allreduce of one number."""
    if algorithm not in PLAIN:
        return (yield from sum_over_ranks(reduction_of(algorithm), values, first))
    total = np.array([PLAIN[algorithm](values)])
    yield from all_reduce(total)
    return float(total[0])


def reduction_of(text: str) -> ReproducibleReduction:
    """The reduction of a text, such as PreRounded(2)."""
    return definition_of(text, "reductions")
