"""One mode where there is one, two where there are two."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deep500.errors import Deep500Error
from deep500.measure.statistics import modality
from deep500.measure.statistics.modality import DensityMode, modes


def groups(
    seed: int, *sizes_and_centres: tuple[int, float], sd: float = 0.01
) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.concatenate(
        [random.normal(centre, sd, size) for size, centre in sizes_and_centres]
    )


def test_two_and_three_groups_are_found_with_place_and_share():
    two = modes(groups(0, (150, 1.0), (50, 1.2)))
    assert [round(mode.at, 2) for mode in two] == [1.0, 1.2]
    assert [mode.share for mode in two] == pytest.approx([0.75, 0.25], abs=0.02)
    assert len(modes(groups(1, (200, 1.0), (300, 1.2), (100, 2.0)))) == 3


def test_order_does_not_matter():
    x = groups(2, (150, 1.0), (100, 1.3))
    assert modes(x) == modes(np.random.default_rng(0).permutation(x))


def test_few_values_claim_nothing():
    assert modes([1.0] * 14 + [9.0] * 15) == (DensityMode(9.0, 1.0),)
    assert modes([2.0] * 1000) == (DensityMode(2.0, 1.0),)


def test_outliers_are_no_mode():
    assert len(modes(groups(3, (190, 1.0), (10, 3.0)))) == 1
    assert len(modes(groups(3, (160, 1.0), (40, 3.0)))) == 2


def test_a_handful_would_be_a_mode_without_the_smallest_share(monkeypatch):
    x = groups(3, (190, 1.0), (10, 3.0))
    monkeypatch.setattr(modality, "SMALLEST_SHARE", 0.0)
    assert len(modes(x)) == 2


def test_clock_ticks_would_be_modes_if_ties_were_not_spread(monkeypatch):
    x = np.round(np.random.default_rng(1).lognormal(0, 0.02, 500) * 25) / 25
    assert len(modes(x)) == 1
    monkeypatch.setattr(modality, "_untied", lambda ordered: ordered)
    assert len(modes(x)) > 1


def test_modes_closer_than_the_gap_are_one():
    x = groups(4, (200, 1.0), (200, 1.015), sd=0.001)
    assert len(modes(x)) == 1
    assert len(modes(x, smallest_gap=0.01)) == 2


@pytest.mark.parametrize("ticks", [1, 2, 3, 5, 20])
def test_ticks_of_a_coarse_clock_are_no_modes(ticks):
    random = np.random.default_rng(ticks)
    x = np.round(random.lognormal(0, 0.02, 500) * 25 * ticks) / (25 * ticks)
    assert len(np.unique(x)) < 60
    assert len(modes(x)) == 1


def test_a_coarse_clock_does_not_hide_modes():
    x = np.round(groups(5, (150, 1.0), (100, 1.3), sd=0.02), 2)
    assert len(modes(x)) == 2


def test_values_that_are_not_positive_have_modes_too():
    assert len(modes(groups(6, (100, -0.1), (100, 0.1)))) == 2
    assert len(modes(groups(6, (200, 0.0)))) == 1


@pytest.mark.parametrize("law", ["narrow", "wide", "pareto", "gamma", "exponential"])
@pytest.mark.parametrize("n", [50, 100, 1000])
def test_one_mode_is_rarely_taken_for_two(law, n):
    draw = {
        "narrow": lambda random: random.lognormal(0, 0.02, n),
        "wide": lambda random: random.lognormal(0, 1, n),
        "pareto": lambda random: 1 + random.pareto(1.5, n),
        "gamma": lambda random: random.gamma(0.5, 1, n),
        "exponential": lambda random: 1 + 0.1 * random.exponential(1, n),
    }[law]
    random = np.random.default_rng(7)
    # one in 3000 at a rate of 2 %
    assert sum(len(modes(draw(random))) > 1 for _ in range(100)) <= 6


@pytest.mark.parametrize(("first", "second"), [(50, 50), (80, 20), (20, 80)])
def test_groups_five_deviations_apart_are_found(first, second):
    found = [
        len(modes(np.exp(groups(seed, (first, 0.0), (second, 0.25), sd=0.05))))
        for seed in range(100)
    ]
    assert found.count(2) >= 90


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(-30, 30))
def test_shares_sum_to_one_and_the_unit_does_not_matter(seed, n, log_unit):
    random = np.random.default_rng(seed)
    x = np.exp(0.05 * random.standard_normal(n) + 0.4 * (random.random(n) < 0.4))
    found = modes(x)
    assert sum(mode.share for mode in found) == pytest.approx(1)
    assert [mode.at for mode in found] == sorted(mode.at for mode in found)
    assert x.min() <= found[0].at and found[-1].at <= x.max()
    scaled = modes(x * math.exp(log_unit))
    assert [mode.share for mode in scaled] == pytest.approx(
        [mode.share for mode in found], abs=0.02
    )


@pytest.mark.parametrize("bad", [[], [1, math.nan], [[1, 2], [3, 4]], ["x"] * 40])
def test_bad_input_is_refused(bad):
    with pytest.raises(Deep500Error):
        modes(bad)


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_a_uniform_distribution_has_one_mode(n):
    rng = np.random.default_rng(5)
    trials = 300
    several, before = 0, 0
    for _ in range(trials):
        values = 1 + 0.2 * rng.random(n)
        several += len(modes(values)) > 1
        before += len(modes(values, deeper=0.0)) > 1
    assert several <= 0.03 * trials
    if n < 1000:
        assert before > 0.05 * trials  # what procedure 1 reported
