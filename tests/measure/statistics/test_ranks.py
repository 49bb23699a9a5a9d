"""Exact tests by ranks, against counting every arrangement and against SciPy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from deep500.measure.statistics.ranks import (
    few_pairs_tail,
    rank_sum_tail,
    sign_flip_tail,
)

NEVER = math.inf


def draws(seed: int, n: int, m: int) -> tuple[list[float], list[float]]:
    """Small whole numbers, so that there are ties, and some that never arrive."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, n + m).astype(float)
    values[rng.random(n + m) < 0.2] = NEVER
    return values[:n].tolist(), values[n:].tolist()


@pytest.mark.parametrize("seed", range(8))
def test_every_choice_of_ranks_counted(seed: int) -> None:
    a, b = draws(seed, 4, 5)
    ranks = stats.rankdata([*a, *b])
    sums = [sum(chosen) for chosen in itertools.combinations(ranks, len(b))]
    expected = np.mean(np.array(sums) >= ranks[len(a) :].sum() - 1e-9)
    assert rank_sum_tail(a, b) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_every_choice_of_signs_counted(seed: int) -> None:
    a, b = draws(seed, 7, 7)
    ranks = stats.rankdata([*a, *b])
    differences = ranks[7:] - ranks[:7]
    signs = np.array(list(itertools.product((-1, 1), repeat=7)))
    sums = signs @ np.abs(differences)
    expected = np.mean(sums >= differences.sum() - 1e-9)
    assert sign_flip_tail(a, b) == pytest.approx(expected, rel=1e-12)


def test_scipy_agrees_without_ties() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 8), rng.normal(0.7, 1, 6)
    theirs = stats.mannwhitneyu(b, a, alternative="greater", method="exact").pvalue
    assert rank_sum_tail(a.tolist(), b.tolist()) == pytest.approx(theirs)


def test_many_values_are_as_good_as_normal() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 150), rng.normal(0.2, 1, 150)
    theirs = stats.mannwhitneyu(b, a, alternative="greater").pvalue
    assert rank_sum_tail(a.tolist(), b.tolist()) == pytest.approx(theirs, rel=0.05)
    assert rank_sum_tail([1.0] * 150, [1.0] * 150) == 1.0


@pytest.mark.parametrize("n", [4, 6, 10])
def test_a_run_that_never_arrives_is_later_than_one_that_always_does(n: int) -> None:
    always, never = [1.0 + i for i in range(n)], [NEVER] * n
    assert rank_sum_tail(always, never) == pytest.approx(1 / math.comb(2 * n, n))
    assert rank_sum_tail(never, always) == 1.0
    assert sign_flip_tail(always, never) == pytest.approx(2.0**-n)


def test_few_pairs_have_to_agree() -> None:
    earlier, later = [1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, NEVER]
    assert few_pairs_tail(earlier, later) == rank_sum_tail(earlier, later)
    crossed = [6.0, 1.5, 8.0, 9.0, NEVER]
    assert rank_sum_tail(earlier, crossed) < 0.1
    assert few_pairs_tail(earlier, crossed) == 1.0
    assert few_pairs_tail([NEVER] * 5, [NEVER] * 5) == 1.0


def test_four_pairs_do_not_decide() -> None:
    earlier, later = [1.0, 2.0, 3.0, 4.0], [NEVER] * 4
    assert rank_sum_tail(earlier, later) < 0.025
    assert few_pairs_tail(earlier, later) == 1.0


def test_equal_values_say_nothing() -> None:
    assert rank_sum_tail([2.0] * 5, [2.0] * 5) == 1.0
    assert sign_flip_tail([NEVER] * 6, [NEVER] * 6) == 1.0
