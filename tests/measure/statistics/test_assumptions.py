"""Dependence between processes and slow changes inside one are seen, and independent values are left alone."""

import numpy as np
import pytest
from scipy import stats

from deep500.measure.statistics.assumptions import (
    AS_IT_IS,
    FEWEST_PROCESSES,
    FEWEST_VALUES,
    SLOW_FACTORS,
    widening,
)

TRIALS = 200


def ar1(rng, n, rho):
    values = rng.standard_normal(n)
    values[1:] *= np.sqrt(1 - rho**2)
    for i in range(1, n):
        values[i] += rho * values[i - 1]
    return values


def random_walk_levels(rng, n):
    """Levels that change rarely: a mode that is kept for about 30 values."""
    switches = rng.random(n) < 1 / 30
    return np.cumsum(switches) % 2 * 5 + rng.standard_normal(n)


def share(draw):
    rng = np.random.default_rng(7)
    return np.mean([widening(draw(rng)).factor > 1 for _ in range(TRIALS)])


def as_processes(medians):
    return [np.array([value]) for value in np.exp(0.03 * medians)]


# bounds are those of 99.9 % binomial intervals about the nominal shares
def test_independent_processes_are_called_dependent_in_10_percent():
    found = share(lambda rng: as_processes(rng.standard_normal(20)))
    assert found < 0.18


def test_dependent_processes_are_found():
    assert share(lambda rng: as_processes(ar1(rng, 20, 0.9))) > 0.8
    assert share(lambda rng: as_processes(ar1(rng, 40, 0.8))) > 0.9


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_a_short_memory_is_not_called_slow(rho):
    certainly = SLOW_FACTORS[0][1]
    rng = np.random.default_rng(7)
    factors = [
        widening([np.exp(0.1 * ar1(rng, 500, rho))]).factor for _ in range(TRIALS)
    ]
    assert np.mean(np.array(factors) == certainly) < 0.07
    assert np.mean(np.array(factors) > 1) < 0.24


def test_modes_that_are_kept_for_long_are_slow():
    assert share(lambda rng: [np.exp(0.1 * random_walk_levels(rng, 1000))]) > 0.9
    # the same values in random order are not
    assert (
        share(
            lambda rng: [np.exp(0.1 * rng.permutation(random_walk_levels(rng, 1000)))]
        )
        < 0.24
    )


def test_the_factor_is_what_the_correlation_says():
    levels = np.repeat([0.0, 1.0], 10) + np.tile([0.0, 0.3], 10)
    z = stats.norm.ppf((stats.rankdata(levels) - 0.5) / 20)
    r = (z[1:] @ z[:-1]) / (z @ z)
    unbiased = (20 * r + 1) / 17
    possible = unbiased + 1.5 * np.sqrt((1 - unbiased**2) / 20)
    assert possible < 0.99  # from there on it is held
    tau = (1 + possible) / (1 - possible)
    quantiles = stats.t.ppf(0.975, [max(20 / tau - 1, 1.5), 19])
    expected = np.sqrt(tau) * quantiles[0] / quantiles[1]
    found = widening(as_processes(levels))
    assert found.factor == pytest.approx(expected, rel=1e-6)
    assert f"the 20 processes count as {20 / tau:.1f}" in found.reason


def test_few_values_are_not_judged():
    rising = np.arange(1.0, FEWEST_PROCESSES)
    assert widening(as_processes(rising)) is AS_IT_IS
    assert widening([np.arange(1.0, FEWEST_VALUES)]) is AS_IT_IS
    assert widening([np.ones(1000)]) is AS_IT_IS


def test_a_slow_change_widens_by_the_simulated_factor():
    rng = np.random.default_rng(1)
    slow = [np.exp(0.1 * random_walk_levels(rng, 2000))]
    assert widening(slow).factor == SLOW_FACTORS[0][1]
