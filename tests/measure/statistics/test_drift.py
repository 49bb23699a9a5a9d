"""A slow drift: found where it is, and how small a one would be found."""

import numpy as np
import pytest

from deep500.measure.statistics.drift import drift


def processes(
    rng: np.random.Generator, change: float, count: int = 12
) -> list[np.ndarray]:
    """Log times of some processes; the level rises by `change` from the beginning to the end of the run."""
    levels = np.log1p(change) * (np.arange(count) + 0.5) / count + rng.normal(
        0, 0.01, count
    )
    return [level + rng.normal(0, 0.05, 200) for level in levels]


def test_the_interval_holds_the_planted_drift():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        found = drift(processes(rng, 0.05))
        held += found.low <= 0.05 <= found.high
    assert 0.92 < held / 400 < 0.98


def test_the_smallest_drift_is_found_as_often_as_it_says():
    rng = np.random.default_rng(1)
    usual = float(
        np.median([drift(processes(rng, 0.0)).detectable for _ in range(200)])
    )
    found = 0
    for _ in range(400):
        seen = drift(processes(rng, usual))
        found += seen.low > 0
    # the noise that it is computed from is itself an estimate
    assert 0.65 < found / 400 < 0.9
    assert (
        np.mean([drift(processes(rng, usual / 10)).low > 0 for _ in range(200)]) < 0.15
    )


def test_parts_of_one_process_stand_for_processes():
    rng = np.random.default_rng(2)
    rising = np.linspace(0, 0.1, 300) + rng.normal(0, 0.02, 300)
    found = drift([rising])
    assert found.n == 10 and found.low < 0.1 < found.high and found.low > 0.05


def test_slow_noise_counts_as_noise():
    """A slow series half hidden in white noise: what it may hide is far more than white noise alone suggests."""
    rng = np.random.default_rng(3)
    white = rng.normal(0, 0.05, 100)
    slow = np.zeros(100)
    for i in range(1, 100):
        slow[i] = 0.95 * slow[i - 1] + rng.normal(0, 0.05 * np.sqrt(1 - 0.95**2))
    assert drift([white + slow]).detectable > 2 * drift([white]).detectable


@pytest.mark.parametrize("series", [[np.zeros(5)], [np.zeros(9)] * 3, [np.zeros(1)]])
def test_too_few_values_say_nothing(series):
    assert drift(series) is None


def test_equal_values_do_not_drift():
    found = drift([np.zeros(40)])
    assert (found.change, found.low, found.high, found.detectable) == (0, 0, 0, 0)


def test_a_level_that_wanders_is_seldom_taken_for_a_drift():
    rng = np.random.default_rng(2)
    plain, careful, seen = 0, 0, 0
    trials = 300
    for _ in range(trials):
        level = rng.standard_normal(20)
        for i in range(1, 20):
            level[i] = 0.8 * level[i - 1] + 0.6 * level[i]
        logs = [np.array([0.01 * value]) for value in level]
        without = drift(logs)
        with_care = drift(logs, dependent=True)
        plain += without.low * without.high > 0
        careful += with_care.low * with_care.high > 0
        # a drift of ten times the noise is seen in either way
        steep = [log + 0.005 * i for i, log in enumerate(0.001 * level)]
        clear = drift([np.array([value]) for value in steep], dependent=True)
        seen += clear.low > 0
    assert plain > 0.3 * trials
    assert careful < 0.1 * trials
    assert seen > 0.9 * trials
