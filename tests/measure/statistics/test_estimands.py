"""Three meanings of one ratio: they agree where calls have one cost, and are told apart where they have several."""

import numpy as np
import pytest

from deep500.measure.statistics.estimands import ratio_of_means, ratio_of_medians


def processes(count, draw):
    rng = np.random.default_rng(1)
    return [draw(rng) for _ in range(count)]


def one_cost(rng):
    return rng.lognormal(0, 0.05, 400)


def two_costs(rng):
    return np.where(rng.random(400) < 0.6, 1.0, 5.0) * rng.lognormal(0, 0.01, 400)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_calls_of_two_costs_have_a_median_and_a_mean_on_different_sides(count):
    a = [np.full(400, 2.0) for _ in range(count)]
    b = processes(count, two_costs)
    medians, means = ratio_of_medians(a, b), ratio_of_means(a, b)
    # the median call costs 1 of 2, the mean call 0.6 + 0.4 * 5 = 2.6 of 2
    assert medians.ratio == pytest.approx(0.5, rel=0.02)
    assert means.ratio == pytest.approx(1.3, rel=0.1)
    if count != 3:  # t at 99 % with two degrees of freedom is wide
        assert medians.verdict(0.02) == "faster" and means.verdict(0.02) == "slower"


@pytest.mark.parametrize("count", [1, 3, 6])
def test_calls_of_one_cost_agree(count):
    a = processes(count, one_cost)
    b = [1.1 * values for values in processes(count, one_cost)]
    for estimate in (ratio_of_medians(a, b), ratio_of_means(a, b)):
        assert estimate.ratio == pytest.approx(1.1, rel=0.02)
        assert estimate.verdict(0.02) in ("slower", "inconclusive")


def test_too_few_values_give_a_ratio_without_an_interval():
    few = ratio_of_means([np.array([1.0, 2.0])], [np.array([2.0, 4.0])])
    assert few.ratio == pytest.approx(2)
    assert few.low is None and few.verdict(0.02) == "inconclusive"
