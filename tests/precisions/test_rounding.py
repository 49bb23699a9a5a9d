"""Rounding to narrow formats against ml_dtypes, and rounding by chance against its closed form."""

import ml_dtypes
import numpy as np
import pytest

import deep500 as d5
from deep500.contracts import random_key
from deep500.precisions._operators import ternary
from deep500.precisions._rounding import FORMATS, FloatFormat, rounded

XP = d5.framework("reference").xp
FRAMEWORKS = d5.available_frameworks()


def values(name: str) -> np.ndarray:
    """Numbers over the whole range of a format: random ones, its own ones, and all ties between them."""
    rng = np.random.default_rng(0)
    form = FORMATS[name]
    top = int(np.log2(form.largest))
    powers = rng.uniform(form.lowest_exponent - 4, top, 4000)
    drawn = (rng.choice([-1, 1], 4000) * 2.0**powers).astype(np.float32)
    drawn = drawn[np.abs(drawn) <= form.largest]
    own = drawn.astype(name).astype(np.float32)
    own = np.unique(own[np.isfinite(own)])
    ties = ((own[1:].astype(np.float64) + own[:-1]) / 2).astype(np.float32)
    return np.concatenate(
        [drawn, own, ties, np.array([0.0, form.largest, -form.largest], np.float32)]
    )


def normal_range(name: str, x: np.ndarray) -> np.ndarray:
    """Without what some engines flush to 0 (of bfloat16, below 2^-119)."""
    return x[(np.abs(x) >= 2.0 ** FORMATS[name].lowest_exponent) | (name != "bfloat16")]


@pytest.mark.parametrize("name", FORMATS)
def test_to_nearest_is_the_cast_of_ml_dtypes(name):
    x = normal_range(name, values(name))
    np.testing.assert_array_equal(
        rounded(XP, x, FORMATS[name]), x.astype(name).astype(np.float32)
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_format_is_found(name):
    """One bit less in the fraction, or rounding half away from zero, is not what ml_dtypes does."""
    x = normal_range(name, values(name))
    x = x[np.abs(x) < FORMATS[name].largest / 4]
    form, truth = FORMATS[name], x.astype(name).astype(np.float32)
    coarser = FloatFormat(form.fraction - 1, form.lowest, form.largest)
    assert (rounded(XP, x, coarser) != truth).mean() > 0.1
    away = rounded(
        XP, x, form, np.full(x.shape, np.nextafter(np.float32(0.5), np.float32(0)))
    )
    assert (away != truth).any()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", FORMATS)
def test_the_same_bits_on_every_framework(name, framework):
    from deep500.precisions._operators import RoundToFormat

    x = normal_range(name, values(name))
    [y] = d5.evaluate(RoundToFormat(name), [x], framework=framework)
    np.testing.assert_array_equal(y, rounded(XP, x, FORMATS[name]))


@pytest.mark.parametrize("name", FORMATS)
def test_the_largest_number_is_ml_dtypes(name):
    assert FORMATS[name].largest == float(ml_dtypes.finfo(name).max)
    beyond = np.array([np.inf, -np.inf, np.nan], np.float32)
    expected = [FORMATS[name].largest, -FORMATS[name].largest, np.nan]
    np.testing.assert_array_equal(
        rounded(XP, beyond, FORMATS[name]), np.array(expected, np.float32)
    )


def chance(shape, step=0):
    key = random_key.complete(random_key.derive(0, "test", None, step))
    return XP.uniform(np.array(key, np.int64), shape)


@pytest.mark.parametrize("value", [1.03, -0.4, 3.1e-3, 100.7])
def test_mean_and_variance_of_rounding_by_chance(value):
    """Between a and a + q, with share p of the way: mean x and variance p (1 - p) q²."""
    n, form = 200_000, FORMATS["float8_e4m3fn"]
    x = np.full((n,), value, np.float32)
    y = rounded(XP, x, form, chance((n,))).astype(np.float64)
    low, high = y.min(), y.max()
    share = (x[0].astype(np.float64) - low) / (high - low)
    variance = share * (1 - share) * (high - low) ** 2
    error = np.sqrt(variance / n)
    assert abs(y.mean() - x[0]) < 5 * error
    assert y.var() == pytest.approx(variance, rel=0.03)
    assert set(np.unique(y)) == {low, high}
    nearest = float(rounded(XP, x[:1], form)[0])
    # rounding to nearest is biased, and would fail
    assert abs(nearest - x[0]) > 5 * error


def test_numbers_of_the_format_stay():
    own = np.array([0.0, 1.0, -1.5, 448.0, 2.0**-9], np.float32)
    np.testing.assert_array_equal(
        rounded(XP, own, FORMATS["float8_e4m3fn"], chance((5,))), own
    )


def test_another_step_draws_otherwise_and_the_same_step_alike():
    x = np.random.default_rng(1).normal(size=1000).astype(np.float32)
    form = FORMATS["bfloat16"]
    once, again, later = (
        rounded(XP, x, form, chance((1000,), step)) for step in (3, 3, 4)
    )
    assert (once == again).all() and (once != later).any()


def test_ternary_weights_are_those_of_the_paper():
    """The level that is nearest to the weights above the threshold, found here by least squares."""
    w = np.random.default_rng(2).normal(size=(30, 20)).astype(np.float32)
    y = ternary(XP, w)
    signs = np.where(np.abs(w) > 0.7 * np.abs(w).mean(), np.sign(w), 0).ravel()
    [level], *_ = np.linalg.lstsq(signs[:, None], w.ravel(), rcond=None)
    np.testing.assert_allclose(y.ravel(), level * signs, rtol=1e-5)
    zeros = np.zeros((3, 3), np.float32)
    assert (ternary(XP, zeros) == zeros).all()
