"""Every function against SciPy, to 1e-9, and the planted errors that this comparison finds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from deep500.measure.statistics.distributions import (
    binomial_cdf,
    chi_square_survival,
    normal_cdf,
    normal_quantile,
    student_t_cdf,
    student_t_quantile,
)

DF = (0.5, 1, 1.5, 2, 3, 4.7, 9, 30, 200, 5000, 1e6, 1e9)
TAILS = (1e-8, 1e-3, 0.025, 0.3, 0.4999)


def test_normal_quantile_agrees_with_scipy():
    p = np.concatenate(
        ([1e-300, 1e-20, 1e-9, 0.075, 0.925], np.linspace(1e-6, 1 - 1e-6, 2001))
    )
    np.testing.assert_allclose(
        normal_quantile(p), special.ndtri(p), rtol=1e-13, atol=1e-13
    )


def test_normal_quantile_keeps_shape_and_knows_the_ends():
    assert normal_quantile([0, 0.5, 1]).tolist() == [-math.inf, 0, math.inf]
    assert normal_quantile(np.full((2, 3), 0.3)).shape == (2, 3)
    assert float(normal_quantile(0.975)) == pytest.approx(1.959963984540054)


@given(st.floats(-8, 8))
def test_normal_quantile_inverts_the_cdf(x):
    assert float(normal_quantile(normal_cdf(x))) == pytest.approx(
        x, abs=1e-8 + 1e-15 * math.exp(x * x / 2)
    )


@pytest.mark.parametrize("df", DF)
def test_student_t_agrees_with_scipy(df):
    for t in (-50, -3, -1, -1e-5, 0, 0.3, 2, 10):
        assert student_t_cdf(t, df) == pytest.approx(special.stdtr(df, t), abs=1e-12)
    for tail in TAILS:
        # SciPy's own inverse is off by 1e-8 in places, its cdf is not
        assert special.stdtr(df, student_t_quantile(tail, df)) == pytest.approx(
            tail, rel=1e-9
        )
        assert student_t_quantile(1 - tail, df) == pytest.approx(
            -student_t_quantile(tail, df), rel=1e-7
        )


def test_student_t_ends_and_middle():
    assert student_t_quantile(0.5, 3) == 0
    assert (student_t_quantile(0, 3), student_t_quantile(1, 3)) == (-math.inf, math.inf)
    assert student_t_quantile(0.975, 4) == pytest.approx(2.7764451051977987, abs=1e-12)


@pytest.mark.parametrize("n", [1, 6, 29, 299, 5000, 10**5, 10**7])
@pytest.mark.parametrize("p", [0.001, 0.01, 0.5, 0.9, 0.99])
def test_binomial_agrees_with_scipy(n, p):
    spread = math.sqrt(n * p * (1 - p))
    for k in {
        -1,
        0,
        1,
        int(n * p),
        int(n * p - 2 * spread),
        int(n * p + 3 * spread),
        n - 1,
        n,
    }:
        assert binomial_cdf(k, n, p) == pytest.approx(
            stats.binom.cdf(k, n, p), abs=1e-11
        )


@given(st.floats(2, 500), st.floats(0.01, 0.99))
def test_binomial_of_a_fractional_n_lies_between_its_neighbours(n, p):
    k = int(n * p)
    low, high = sorted(
        (binomial_cdf(k, math.floor(n), p), binomial_cdf(k, math.ceil(n), p))
    )
    assert low - 1e-12 <= binomial_cdf(k, n, p) <= high + 1e-12


@pytest.mark.parametrize("df", [0.5, 1, 2, 5, 20, 100, 1e4, 1e6])
def test_chi_square_agrees_with_scipy(df):
    for x in (0, 0.1, 1, 5, 20, 60, 9900, 1e4 + 300, 1e6 + 2e3, math.inf):
        assert chi_square_survival(x, df) == pytest.approx(
            stats.chi2.sf(x, df), abs=1e-12
        )


def test_the_tolerance_would_notice_a_wrong_digit():
    """A quantile that is off in the eighth digit, as common approximations are, does not pass."""
    wrong = student_t_quantile(0.025, 9) * (1 + 1e-8)
    assert special.stdtr(9, wrong) != pytest.approx(0.025, rel=1e-9)
