"""The matrices of Winograd's algorithm in exact fractions."""

from fractions import Fraction

import pytest

from deep500.convolutions._cook_toom import POINTS, TAPS, operations, transforms


def product(matrix, vector):
    return [sum(a * x for a, x in zip(row, vector, strict=True)) for row in matrix]


def transposed(matrix):
    return [*zip(*matrix, strict=True)]


@pytest.mark.parametrize("m", POINTS)
def test_a_filter_over_a_tile_is_exact(m: int) -> None:
    matrices = transforms(m)
    tile = [Fraction(3 * i * i - 7 * i + 1, 3) for i in range(m + TAPS - 1)]
    taps = [Fraction(2 * i + 1, 5) for i in range(TAPS)]
    pairs = zip(
        product(matrices.filter, taps), product(matrices.input, tile), strict=True
    )
    results = product(transposed(matrices.output), [u * v for u, v in pairs])
    want = [sum(tile[i + j] * taps[j] for j in range(TAPS)) for i in range(m)]
    assert results == want


@pytest.mark.parametrize("m", POINTS)
def test_a_wrong_matrix_is_found(m: int) -> None:
    matrices = transforms(m)
    wrong = [[*row] for row in matrices.input]
    wrong[1][1] += 1
    tile = [Fraction(i + 1) for i in range(m + TAPS - 1)]
    assert product(wrong, tile) != product(matrices.input, tile)


def test_operations_count_what_pairs_share() -> None:
    matrices = transforms(4)
    # rows 0 and 5: two products and two sums; a pair: four products at most, two sums and two between them
    assert operations(matrices.input) == 4 + (2 + 2 + 2) + (1 + 1 + 1 + 1 + 2) + 4
    assert operations(transforms(2).filter) <= 8
