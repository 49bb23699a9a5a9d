"""Steady states that are known: flat, warming up, slowing down, never steady."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from deep500.errors import Deep500Error
from deep500.measure.statistics import steadiness
from deep500.measure.statistics.steadiness import SteadyState, steady_state


def noise(seed: int, n: int, sd: float = 0.05) -> np.ndarray:
    return sd * np.random.default_rng(seed).standard_normal(n)


def test_constant_and_short_series_are_flat():
    assert steady_state(np.ones(100)) == SteadyState("flat", 0, 100)
    assert steady_state([3.0, 1.0]) == SteadyState("flat", 0, 2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sign", [1, -1])
def test_a_change_of_level_is_found_where_it_is(seed, sign):
    level = np.where(np.arange(300) < 60, sign * 0.15, 0)
    found = steady_state(np.exp(level + noise(seed, 300)))
    assert found.kind == ("warmup" if sign > 0 else "slowdown")
    assert abs(found.start - 60) <= 6


def test_the_first_call_is_cut():
    x = np.exp(noise(0, 200))
    x[:3] *= 10
    assert steady_state(x) == SteadyState("warmup", 3, 200)


def test_a_slow_decay_ends_in_a_steady_part():
    found = steady_state(np.exp(noise(1, 500) + np.log1p(np.exp(-np.arange(500) / 25))))
    assert found.kind == "warmup" and 25 < found.start < 170


def test_a_late_change_and_a_drift_are_never_steady():
    late = np.exp(noise(2, 300) + 0.2 * (np.arange(300) > 250))
    drift = np.exp(noise(3, 1000) + 0.3 * np.arange(1000) / 1000)
    assert steady_state(late) == SteadyState("none", 300, 300)
    assert steady_state(drift) == SteadyState("none", 1000, 1000)


def test_a_ramp_without_noise_is_never_steady_and_a_walk_is_not_flat():
    assert steady_state(np.linspace(1, 2, 200)).kind == "none"
    assert steady_state(np.exp(np.cumsum(noise(7, 400)))).kind != "flat"


def test_dependent_noise_is_not_cut_and_would_be_without_its_price(monkeypatch):
    random = np.random.default_rng(8)
    walks = [
        lfilter([1], [1, -0.9], 0.05 * random.standard_normal(500))[200:]
        for _ in range(60)
    ]
    # 1 in 500 at a rate of 5 %
    assert sum(steady_state(np.exp(walk)).kind != "flat" for walk in walks) <= 7
    monkeypatch.setattr(steadiness, "_tau", lambda z: 1.0)
    assert sum(steady_state(np.exp(walk)).kind != "flat" for walk in walks) > 30


def test_differences_below_one_percent_do_not_matter():
    x = np.exp(noise(4, 300, 0.0005) + np.where(np.arange(300) < 60, 0.008, 0))
    assert steady_state(x).kind == "flat"
    x[:60] *= 1.03  # the same series with a step that does matter
    assert steady_state(x).kind == "warmup"


def test_rare_outliers_are_no_change():
    x = np.exp(noise(5, 400))
    x[[50, 51, 200, 333]] *= 20
    assert steady_state(x).kind == "flat"


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 200), st.floats(-20, 20))
def test_the_unit_does_not_matter(seed, n, log_unit):
    x = np.exp(noise(seed, n) + np.where(np.arange(n) < n // 4, 0.2, 0))
    found = steady_state(x)
    assert steady_state(x * math.exp(log_unit)) == found
    assert 0 <= found.start <= n and (found.start == n) == (found.kind == "none")
    assert (found.start == 0) == (found.kind == "flat")


def test_values_that_are_not_positive_are_taken_as_they_are():
    assert steady_state(noise(6, 200)).kind == "flat"
    assert steady_state(noise(6, 200) - (np.arange(200) > 60)).kind == "warmup"


@pytest.mark.parametrize("bad", [[], [1, math.nan], [[1, 2], [3, 4]], ["x"] * 30])
def test_bad_input_is_refused(bad):
    with pytest.raises(Deep500Error):
        steady_state(bad)
