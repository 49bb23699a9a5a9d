"""Effect sizes: against SciPy and brute force, mirrored, bounded honestly."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deep500.measure.statistics.effects import (
    Effect,
    _thinned,
    paired_effect,
    two_sample_effect,
)

P_ONE_APART = stats.norm.cdf(1 / math.sqrt(2))  # of two unit normals, one apart
# Whole numbers make ties, which random floats never do.
logs = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=25).map(np.array)


@given(logs, logs)
def test_two_samples_agree_with_brute_force_and_scipy(a, b):
    found = two_sample_effect(a, b, 0.95)
    assert math.log(found.shift) == pytest.approx(
        np.median([y - x for x in a for y in b]), abs=1e-12
    )
    u = stats.mannwhitneyu(b, a).statistic
    assert found.probability == pytest.approx(u / (a.size * b.size), abs=1e-12)


@given(logs)
def test_pairs_agree_with_brute_force(d):
    found = paired_effect(d, 0.95)
    walsh = [(x + y) / 2 for x, y in combinations_with_replacement(d, 2)]
    assert math.log(found.shift) == pytest.approx(np.median(walsh), abs=1e-12)
    assert found.probability == pytest.approx(((d > 0) + 0.5 * (d == 0)).mean())
    if (d != 0).all():
        exact = stats.binomtest(int((d > 0).sum()), d.size).proportion_ci(0.95)
        assert found.probability_low == pytest.approx(exact.low, abs=1e-9)
        assert found.probability_high == pytest.approx(exact.high, abs=1e-9)


@given(logs, logs)
def test_swapping_the_sides_mirrors_the_effect(a, b):
    assert_mirrored(two_sample_effect(a, b, 0.95), two_sample_effect(b, a, 0.95))


@given(logs)
def test_swapping_the_sides_of_pairs_mirrors_the_effect(d):
    assert_mirrored(paired_effect(d, 0.95), paired_effect(-d, 0.95))


def assert_mirrored(one: Effect, other: Effect) -> None:
    def reciprocal(x):
        return None if x is None else 1 / x

    mirrored = (
        reciprocal(other.shift),
        reciprocal(other.shift_high),
        reciprocal(other.shift_low),
    )
    assert (one.shift, one.shift_low, one.shift_high) == pytest.approx(mirrored)
    assert (
        one.probability,
        one.probability_low,
        one.probability_high,
    ) == pytest.approx(
        (1 - other.probability, 1 - other.probability_high, 1 - other.probability_low)
    )


@given(logs, logs)
def test_bounds_contain_the_effect(a, b):
    for found in (two_sample_effect(a, b, 0.95), paired_effect(a, 0.95)):
        if found.shift_low is not None:
            assert found.shift_low <= found.shift <= found.shift_high
        assert (
            0
            <= found.probability_low
            <= found.probability
            <= found.probability_high
            <= 1
        )


def test_the_bounds_of_separated_samples_are_not_certain():
    found = two_sample_effect(np.arange(10.0), np.arange(10.0) + 100, 0.95)
    assert found.probability == 1 and 0.6 < found.probability_low < 0.95


def test_no_level_no_bounds():
    found = two_sample_effect(np.arange(10.0), np.arange(12.0), None)
    assert (found.shift_low, found.probability_low) == (None, None)


def test_many_values_are_thinned_without_moving_the_effect():
    rng = np.random.default_rng(5)
    a, b = rng.normal(0, 1, 30_000), rng.normal(0.3, 1, 20_000)
    found = two_sample_effect(a, b, 0.95)
    assert math.log(found.shift) == pytest.approx(0.3, abs=0.03)
    exact = two_sample_effect(a[:1000], b[:1000], None).shift  # just not thinned
    thinned = two_sample_effect(
        np.repeat(a[:1000], 7), np.repeat(b[:1000], 5), None
    ).shift
    assert thinned == pytest.approx(exact, abs=1e-4)
    assert (
        found.shift_low < math.exp(0.3) < found.shift_high
        and found.shift_high / found.shift_low < 1.05
    )
    assert math.log(paired_effect(a, 0.95).shift) == pytest.approx(0, abs=0.03)


def test_thinning_keeps_the_quantiles():
    values = np.random.default_rng(6).permutation(10_001).astype(float)
    thin = _thinned(values, 2000)
    assert thin.size == 2000 and np.median(thin) == np.median(values)
    assert np.quantile(thin, 0.99) == pytest.approx(9900, abs=3)
    assert _thinned(-values, 2000)[::-1] == pytest.approx(-thin)
    assert _thinned(values, 20_000) is values


def shares_covered(make, effect, location, replications=300):
    """How often the bounds hold the true shift exp(location) and the probability given with the data."""
    covered = np.zeros(2)
    for _ in range(replications):
        *data, probability = make()
        found = effect(*data, 0.95)
        covered += (
            found.shift_low <= math.exp(location) <= found.shift_high,
            found.probability_low <= probability <= found.probability_high,
        )
    return covered / replications


@pytest.mark.parametrize(("n", "m"), [(10, 10), (10, 60), (40, 40)])
def test_bounds_of_two_samples_cover(n, m):
    rng = np.random.default_rng(n + m)
    covered = shares_covered(
        lambda: (rng.normal(0, 1, n), rng.normal(1, 1, m), P_ONE_APART),
        two_sample_effect,
        1,
    )
    assert (covered >= 0.925).all(), covered


@pytest.mark.parametrize("n", [8, 30])
def test_bounds_of_pairs_cover(n):
    rng = np.random.default_rng(n)
    covered = shares_covered(
        lambda: (rng.normal(0.5, 1, n), stats.norm.cdf(0.5)), paired_effect, 0.5
    )
    assert (covered >= 0.925).all(), covered


def test_the_check_of_coverage_can_fail():
    rng = np.random.default_rng(1)

    def pseudo_replicated():  # ten values, each counted four times
        return (
            np.repeat(rng.normal(0, 1, 10), 4),
            np.repeat(rng.normal(1, 1, 10), 4),
            P_ONE_APART,
        )

    covered = shares_covered(pseudo_replicated, two_sample_effect, 1, 100)
    assert (covered < 0.8).all()
