"""The kernels compiled for shorter vectors."""

from itertools import product

import pytest

from deep500.contracts.convolution import DIRECTIONS
from deep500.convolutions import _native

from .problems import algorithms, arguments, by_torch, random_problem
from .test_results import share_of_bound


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["-mno-avx512f", "-mno-avx"])
def test_results_are_within_bounds(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lesser = _native.library(flag)
    monkeypatch.setattr(_native, "library", lambda: lesser)
    for seed in range(30):
        problem = random_problem(seed)
        for direction, algorithm in product(DIRECTIONS, algorithms()):
            if algorithm.refusal(problem, direction):
                continue
            a, b = arguments(problem, direction, seed)
            right = by_torch(problem, direction, a, b)
            share = share_of_bound(algorithm, problem, direction, a, b, right)
            assert share <= 1, (seed, direction, algorithm)
