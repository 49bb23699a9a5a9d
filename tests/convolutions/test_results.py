"""Every algorithm against PyTorch in float64, within its own bound; and bounds that find what is wrong."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest

from deep500.contracts.convolution import (
    DIRECTIONS,
    ConvolutionAlgorithm,
    ConvolutionProblem,
)
from deep500.convolutions.direct import Direct
from deep500.convolutions.im2col import Im2col
from deep500.convolutions.winograd2 import Winograd2
from deep500.convolutions.winograd4 import Winograd4

from .problems import (
    algorithms,
    arguments,
    by_torch,
    computed,
    random_problem,
)

QUICK, ALL = 60, 1000


def shares_of_bounds(seeds: range) -> dict[str, float]:
    """The largest error of every algorithm, as a share of its bound, over random problems."""
    largest: dict[str, float] = defaultdict(float)
    for seed in seeds:
        problem = random_problem(seed)
        for direction in DIRECTIONS:
            a, b = arguments(problem, direction, seed)
            right = by_torch(problem, direction, a, b)
            for algorithm in algorithms():
                if algorithm.refusal(problem, direction):
                    continue
                share = share_of_bound(algorithm, problem, direction, a, b, right)
                assert share <= 1, (seed, problem, direction, algorithm)
                name = type(algorithm).__name__
                largest[name] = max(largest[name], share)
    return largest


def share_of_bound(
    algorithm: ConvolutionAlgorithm,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    right: np.ndarray,
) -> float:
    result = computed(algorithm, problem, direction, a, b)
    bound = algorithm.bound(problem, direction, a, b)
    assert bound.shape == result.shape
    share = np.abs(result - right) / bound
    return float(np.max(share))


def test_errors_are_within_bounds_that_are_not_far() -> None:
    shares = shares_of_bounds(range(QUICK))
    assert len(shares) == len(algorithms())
    for name, share in shares.items():
        assert share > 0.1, name


@pytest.mark.slow
def test_errors_of_a_thousand_problems_are_within_bounds() -> None:
    for name, share in shares_of_bounds(range(ALL)).items():
        assert share > 0.1, name


CASE = ConvolutionProblem(2, 64, 20, 18, 48, (3, 3), pads=(1, 1, 1, 1))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_correct_winograd_is_further_off_than_a_direct_one_may_be(
    direction: str,
) -> None:
    a, b = arguments(CASE, direction)
    right = by_torch(CASE, direction, a, b)
    result = computed(Winograd4(), CASE, direction, a, b)
    own = Winograd4().bound(CASE, direction, a, b)
    assert np.all(np.abs(result - right) <= own)
    direct = Direct().bound(CASE, direction, a, b)
    assert np.any(np.abs(result - right) > direct)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("relative", [1e-4, 1e-2])
def test_a_wrong_winograd_is_found(direction: str, relative: float) -> None:
    """One of the filter's numbers, or of the gradient's, is off by so much."""
    a, b = arguments(CASE, direction)
    right = by_torch(CASE, direction, a, b)
    wrong = b.copy()
    wrong[..., 1, 1] *= np.float32(1 + relative)
    result = computed(Winograd4(), CASE, direction, a, wrong)
    own = Winograd4().bound(CASE, direction, a, b)
    assert np.any(np.abs(result - right) > own)


def test_a_wrong_point_of_a_transform_is_found() -> None:
    """The tile's transform with 1/2 where a 1 belongs, as in a mistyped matrix."""
    from deep500.convolutions._cook_toom import transforms

    matrices = transforms(4)
    of_tiles, of_filters, of_results = (
        np.array([[float(x) for x in row] for row in matrix])
        for matrix in (matrices.input, matrices.filter, matrices.output)
    )
    problem = ConvolutionProblem(1, 8, 6, 6, 4, (3, 3))
    x, w = arguments(problem, "forward")

    def result() -> np.ndarray:
        tiles = of_tiles @ x.astype(float) @ of_tiles.T
        filters = of_filters @ w.astype(float) @ of_filters.T
        sums = np.einsum("ncij,kcij->nkij", tiles, filters)
        return of_results.T @ sums @ of_results

    right = by_torch(problem, "forward", x, w)
    bound = Winograd4().bound(problem, "forward", x, w)
    assert np.all(np.abs(result() - right) <= bound)
    of_tiles[4, 3] *= 0.5
    assert np.any(np.abs(result() - right) > bound)


SHAPES = [
    ConvolutionProblem(2, 3, 23, 21, 20, (7, 7), (2, 2), (3, 3, 3, 3)),
    ConvolutionProblem(1, 1, 30, 40, 32, (5, 20), (2, 2)),
    ConvolutionProblem(3, 34, 9, 8, 50, (3, 3), pads=(0, 2, 1, 0)),
    ConvolutionProblem(2, 36, 7, 9, 24, (1, 1), (2, 2), groups=2),
    ConvolutionProblem(2, 6, 16, 15, 9, (3, 3), (1, 1), (5, 0, 4, 1), (2, 3), 3),
    ConvolutionProblem(1, 16, 40, 37, 32, (11, 11), pads=(5, 5, 5, 5)),
    ConvolutionProblem(1, 5, 3, 3, 4, (2, 2), (5, 4)),
    ConvolutionProblem(2, 16, 56, 56, 32, (3, 3), pads=(1, 1, 1, 1)),
    ConvolutionProblem(1, 2, 1, 50, 3, (1, 5), pads=(0, 2, 0, 2)),
]


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_known_shapes_on_two_threads_have_the_bits_of_one(number: int) -> None:
    problem = SHAPES[number]
    ran = 0
    for direction, algorithm in product(DIRECTIONS, algorithms()):
        if algorithm.refusal(problem, direction):
            continue
        a, b = arguments(problem, direction, number)
        right = by_torch(problem, direction, a, b)
        share = share_of_bound(algorithm, problem, direction, a, b, right)
        assert share <= 1, (direction, algorithm)
        one = computed(algorithm, problem, direction, a, b)
        two = computed(algorithm, problem, direction, a, b, threads=2)
        assert one.tobytes() == two.tobytes(), (direction, algorithm)
        ran += 1
    assert ran >= 2 * len(DIRECTIONS)


def test_results_are_added_to_what_is_there() -> None:
    problem = ConvolutionProblem(2, 5, 9, 8, 6, (3, 3), pads=(1, 1, 1, 1))
    for direction, algorithm in product(DIRECTIONS, algorithms()):
        if algorithm.refusal(problem, direction):
            continue
        a, b = arguments(problem, direction)
        plain = computed(algorithm, problem, direction, a, b)
        added = np.full(plain.shape, 3, np.float32)
        algorithm.run(problem, direction, a, b, added, accumulate=True)
        bound = 2.0**-20 * (1 + np.abs(plain))
        assert np.all(np.abs(added - 3 - plain) <= bound), (direction, algorithm)


def test_an_empty_batch_gives_no_gradient_of_filters() -> None:
    problem = ConvolutionProblem(0, 5, 9, 8, 6, (3, 3))
    for algorithm in (Direct(), Winograd2(), Im2col()):
        a, b = arguments(problem, "filter")
        assert not computed(algorithm, problem, "filter", a, b).any()


def test_patches_of_several_images_at_once_give_the_same_bits() -> None:
    problem = ConvolutionProblem(5, 7, 9, 8, 6, (3, 3), pads=(1, 0, 1, 1))
    a, b = arguments(problem, "forward")
    one = computed(Im2col(), problem, "forward", a, b)
    for images in (2, 5, 9):
        several = computed(Im2col(images=images), problem, "forward", a, b)
        assert one.tobytes() == several.tobytes()
