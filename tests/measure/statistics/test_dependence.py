"""Scores, autocorrelations and the copula against direct computation; tau against known series."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from deep500.errors import Deep500Error
from deep500.measure.statistics.dependence import (
    as_series,
    autocorrelation,
    dependence,
    first_order,
    indicator_correlation,
    initial_monotone,
    normal_scores,
    without_bias,
)

values = st.lists(st.integers(-50, 50).map(float), min_size=4, max_size=60).map(
    np.array
)


def ar1(random: np.random.Generator, n: int, rho: float) -> np.ndarray:
    return lfilter(
        [math.sqrt(1 - rho * rho)], [1, -rho], random.standard_normal(n + 200)
    )[200:]


@given(values)
def test_normal_scores_are_those_of_average_ranks(x):
    expected = stats.norm.ppf((stats.rankdata(x) - 0.5) / len(x))
    np.testing.assert_allclose(normal_scores(x), expected, atol=1e-12)


@given(values)
def test_mirrored_values_have_exactly_mirrored_scores(x):
    assert (normal_scores(-x) == -normal_scores(x)).all()


@given(values)
def test_autocorrelation_is_the_direct_sum(x):
    z = x - x.mean()
    energy = z @ z
    direct = [
        1.0,
        *(float(z[:-k] @ z[k:]) / energy if energy else 0.0 for k in range(1, len(x))),
    ]
    np.testing.assert_allclose(autocorrelation(x, len(x) - 1), direct, atol=1e-9)


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.99, 0.2])
def test_the_copula_gives_the_correlation_of_indicators(quantile):
    rho = np.array([-0.5, 0.0, 0.3, 0.7, 0.95])
    h = stats.norm.ppf(quantile)
    both = [
        float(stats.multivariate_normal.cdf([h, h], cov=[[1, r], [r, 1]])) for r in rho
    ]
    direct = (np.array(both) - quantile**2) / (quantile * (1 - quantile))
    np.testing.assert_allclose(indicator_correlation(rho, quantile), direct, atol=2e-4)
    assert indicator_correlation(np.array([1.0]), quantile) == pytest.approx(
        [1.0], abs=1e-4
    )


def test_the_monotone_sequence_sums_a_known_autocorrelation():
    tau, cut = initial_monotone(0.6 ** np.arange(200.0))
    assert tau == pytest.approx(1.6 / 0.4, rel=1e-6) and cut > 100
    assert initial_monotone(np.array([1.0, 0.5, -0.6, 0.0])) == (2.0, 1)


@pytest.mark.parametrize(("rho", "n"), [(0.3, 100), (0.6, 100), (0.9, 400)])
def test_tau_of_an_autoregression_is_found(rho, n):
    random = np.random.default_rng(1)
    truth = 1 + 4 / math.pi * np.arcsin(rho ** np.arange(1.0, 500)).sum()
    taus = [dependence(ar1(random, n, rho)).tau for _ in range(200)]
    assert 0.85 * truth < np.median(taus) < 1.35 * truth


def test_independent_values_are_mostly_left_alone():
    random = np.random.default_rng(2)
    taus = [dependence(random.standard_normal(100)).tau for _ in range(300)]
    assert np.mean(np.array(taus) == 1) > 0.6


def test_tau_looks_at_order_and_only_at_order():
    random = np.random.default_rng(3)
    x = np.exp(ar1(random, 400, 0.9))
    assert dependence(x).tau > 5
    assert dependence(x) == dependence(np.log(x)) == dependence(-x)
    assert dependence(random.permutation(x)).tau < 2


def test_short_series_only_show_gross_dependence():
    random = np.random.default_rng(5)
    assert dependence(np.arange(15.0)).tau == 15
    assert sum(dependence(random.standard_normal(12)).tau > 1 for _ in range(500)) <= 8
    assert dependence(np.array([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3])).tau == 1
    assert (
        dependence(np.array([1.0, 2.0])).tau
        == dependence(np.array([1.0, 2.0, 3.0])).tau
        == 1
    )


def test_the_corrections_remove_most_of_the_bias():
    random = np.random.default_rng(4)
    rho = np.mean(
        [autocorrelation(ar1(random, 60, 0.6), 40) for _ in range(600)], axis=0
    )
    assert abs(first_order(float(rho[1]), 60) - 0.6) < 0.03 < 0.6 - rho[1]
    assert abs(without_bias(rho, 60)[1] - 0.6) < 0.6 - rho[1]


@pytest.mark.parametrize(
    "bad",
    [
        [],
        [[1, 2], [3]],
        np.zeros((2, 2)),
        ["a"],
        "abc",
        5,
        None,
        [1, math.nan],
        [math.inf],
        [1e200],
        [True],
    ],
)
def test_what_is_no_series_is_refused_in_one_line(bad):
    with pytest.raises(Deep500Error) as error:
        as_series(bad)
    assert "\n" not in str(error.value)
