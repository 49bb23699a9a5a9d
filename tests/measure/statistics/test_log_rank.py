"""The log-rank test and Welch's analysis of variance against SciPy, on random data sets."""

import math

import numpy as np
import pytest
from scipy import stats

from deep500.errors import Deep500Error, TooFewSamples
from deep500.measure import log_rank, welch_anova
from deep500.measure.statistics.distributions import f_survival


def censored_sample(rng, n, scale):
    """Times to arrive, of which some ended before; rounded, so that there are ties."""
    arrivals = np.round(rng.exponential(scale, n), 1) + 0.1
    ends = np.round(rng.exponential(2.0, n), 1) + 0.1
    return np.minimum(arrivals, ends), arrivals <= ends


@pytest.mark.parametrize("seed", range(10))
def test_log_rank_is_scipys(seed):
    """Twenty data sets for each seed: 200 in all."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < 20:
        a, at_a = censored_sample(rng, rng.integers(3, 30), 1.0)
        b, at_b = censored_sample(rng, rng.integers(3, 30), rng.choice([1.0, 2.0]))
        if not at_a.any() or not at_b.any():
            continue
        theirs = stats.logrank(
            stats.CensoredData(uncensored=a[at_a], right=a[~at_a]),
            stats.CensoredData(uncensored=b[at_b], right=b[~at_b]),
        )
        ours = log_rank(a, at_a, b, at_b)
        assert abs(ours.z) == pytest.approx(abs(theirs.statistic), abs=1e-9)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
        assert ours.arrived == (at_a.sum(), at_b.sum())
        compared += 1


def test_the_sign_says_who_arrives_sooner():
    early, late = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]
    arrived = [True] * 4
    assert log_rank(early, arrived, late, arrived).z > 2
    assert log_rank(late, arrived, early, arrived).z < -2
    assert log_rank(early, arrived, early, arrived).z == pytest.approx(0)


def test_two_samples_that_are_alike_are_told_apart_in_five_percent():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(400):
        a, b = censored_sample(rng, 20, 1.0), censored_sample(rng, 20, 1.0)
        found += log_rank(*a, *b).p < 0.05
    assert stats.binomtest(found, 400, 0.05).pvalue > 0.001


def test_runs_that_never_arrive_count():
    never = [math.inf] * 5
    found = log_rank([1.0, 2.0, 3.0, 4.0, 5.0], [True] * 5, never, [False] * 5)
    assert found.z > 2 and found.arrived == (5, 0)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], [], [1.0], [True]), Deep500Error),
        (([1.0], [True, False], [1.0], [True]), Deep500Error),
        (([math.nan], [False], [1.0], [True]), Deep500Error),
        (([math.inf], [True], [1.0], [True]), Deep500Error),
        (([1.0], [False], [2.0], [False]), TooFewSamples),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, error):
    with pytest.raises(error):
        log_rank(*arguments)


@pytest.mark.parametrize("seed", range(10))
def test_welch_anova_is_scipys(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        count = rng.integers(2, 6)
        groups = [
            rng.normal(rng.normal(0, 0.5), rng.uniform(0.1, 3), rng.integers(2, 30))
            for _ in range(count)
        ]
        theirs = stats.f_oneway(*groups, equal_var=False)
        ours = welch_anova(groups)
        assert ours.f == pytest.approx(theirs.statistic, rel=1e-9)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)


def test_welch_anova_of_two_groups_is_welchs_t():
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 12), rng.normal(1, 3, 30)
    t = stats.ttest_ind(a, b, equal_var=False)
    ours = welch_anova([a, b])
    assert ours.f == pytest.approx(t.statistic**2) and ours.p == pytest.approx(t.pvalue)
    assert ours.df_within == pytest.approx(t.df)


def test_the_tail_of_f_is_scipys():
    rng = np.random.default_rng(1)
    for _ in range(200):
        f, d1, d2 = rng.exponential(2), rng.uniform(1, 9), rng.uniform(1, 80)
        assert f_survival(f, d1, d2) == pytest.approx(stats.f.sf(f, d1, d2), rel=1e-8)


def test_groups_without_variance_are_refused():
    with pytest.raises(TooFewSamples):
        welch_anova([[1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(Deep500Error):
        welch_anova([[1.0, 2.0]])
