"""A workspace of exactly the declared bytes is enough, and nothing beside it is touched."""

from itertools import product

import numpy as np
import pytest

from deep500.contracts.convolution import DIRECTIONS, ConvolutionProblem
from deep500.convolutions.direct import Direct
from deep500.convolutions.fft import Fft
from deep500.convolutions.im2col import Im2col
from deep500.convolutions.winograd4 import Winograd4
from deep500.errors import Deep500Error

from .problems import algorithms, arguments, by_torch, random_problem

GUARD = 4096
PATTERN = 0xA5


def in_guards(size: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
    """Memory with guards before and behind, and the part between them."""
    memory = np.full(size + 2 * GUARD + offset, PATTERN, np.uint8)
    start = GUARD + offset
    return memory, memory[start : start + size]


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_guards_around_all_memory_stay(seed: int) -> None:
    problem = random_problem(seed)
    for direction, algorithm in product(DIRECTIONS, algorithms()):
        if algorithm.refusal(problem, direction):
            continue
        threads = 1 + seed % 2
        size = algorithm.workspace(problem, direction, threads)
        memory, workspace = in_guards(size, seed % 64)
        a, b = arguments(problem, direction, seed)
        shape = problem.shapes(direction)[2]
        whole, part = in_guards(4 * int(np.prod(shape)), 0)
        out = part.view(np.float32).reshape(shape)
        algorithm.run(problem, direction, a, b, out, workspace, threads=threads)
        for guarded, inside in ((memory, workspace), (whole, part)):
            guarded = guarded.copy()
            start = (
                inside.ctypes.data
                - (memory if inside is workspace else whole).ctypes.data
            )
            guarded[start : start + inside.size] = PATTERN
            assert np.all(guarded == PATTERN), (direction, algorithm)
        right = by_torch(problem, direction, a, b)
        assert np.allclose(out, right, rtol=1e-2, atol=1e-2), (direction, algorithm)


def test_the_last_bytes_are_used() -> None:
    """A declared number that is too large would waste memory: garbage there does not stay."""
    problem = ConvolutionProblem(1, 32, 12, 12, 32, (3, 3))
    for algorithm in (Im2col(), Winograd4(), Fft()):
        size = algorithm.workspace(problem, "forward")
        a, b = arguments(problem, "forward")
        memory = np.full(size, PATTERN, np.uint8)
        out = np.empty(problem.out_shape, np.float32)
        algorithm.run(problem, "forward", a, b, out, memory)
        written = np.flatnonzero(memory != PATTERN)
        assert written[-1] > 0.9 * size


def test_workspaces_grow_as_the_formulas_say() -> None:
    problem = ConvolutionProblem(1, 32, 30, 30, 32, (3, 3), pads=(1, 1, 1, 1))
    patches = 4 * 32 * 9 * 30 * 30
    weights = 4 * 32 * 32 * 9
    assert (
        abs(Im2col().workspace(problem, "forward") - patches - weights) < 0.1 * patches
    )
    whole = problem.with_batch(8)
    several = Im2col(images=8).workspace(whole, "forward")
    assert abs(several - 8 * patches - weights) < 0.1 * patches
    spectra = 4 * 32 * 32 * (8 * 32 + 32 * 32)
    assert 1 <= Fft().workspace(whole, "forward") / spectra < 1.5
    # blocks of tiles: the batch makes no difference
    few, many = problem.with_batch(8), problem.with_batch(64)
    assert Winograd4().workspace(many, "forward") < 1.1 * Winograd4().workspace(
        few, "forward"
    )


def test_a_workspace_that_is_too_small_is_refused_in_one_line() -> None:
    problem = ConvolutionProblem(1, 4, 12, 12, 4, (3, 3))
    a, b = arguments(problem, "forward")
    out = np.empty(problem.out_shape, np.float32)
    size = Direct().workspace(problem, "forward")
    small = np.empty(size - 1, np.uint8)
    with pytest.raises(Deep500Error, match=f"needs a workspace of {size} bytes"):
        Direct().run(problem, "forward", a, b, out, small)
