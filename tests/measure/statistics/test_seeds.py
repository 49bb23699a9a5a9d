"""The median over seeds is the median, and its interval lies in the range of its scale and holds."""

import math
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import pytest

from deep500.errors import TooFewSamples
from deep500.measure.statistics.intervals import Interval
from deep500.measure.statistics.scales import (
    POSITIVE,
    REAL,
    SHARE,
    Scale,
    fitting_scale,
)
from deep500.measure.statistics.seeds import (
    seeds_interval,
    seeds_interval_with_missing,
)

AT_MOST_ONE = Scale(high=1.0)
SCALES = {
    "share": SHARE,
    "positive": POSITIVE,
    "real": REAL,
    "at most 1": AT_MOST_ONE,
    "gap": Scale(-100.0, 100.0),
}


SeedsInterval = Callable[[Sequence[float], Scale], Interval]


def draw(rng: np.random.Generator, scale: Scale, n: int) -> list[float]:
    """Values of the whole range: next to its ends and on them, of any size, with ties."""
    places = rng.normal(rng.normal(0, 4), rng.choice([1e-6, 0.1, 1, 8]), n)
    values = [scale.value_at(place) for place in places]
    ends = [end for end in (scale.low, scale.high) if math.isfinite(end)]
    for i in range(n):
        if ends and rng.random() < 0.1:
            values[i] = float(rng.choice(ends))
        elif rng.random() < 0.1:
            values[i] = values[0]
    return values


def check_ranges(
    scale: Scale, draws: int, interval: SeedsInterval = seeds_interval
) -> None:
    rng = np.random.default_rng(5)
    for n in range(2, 21):
        for _ in range(draws):
            values = draw(rng, scale, n)
            if n == 2:
                with pytest.raises(TooFewSamples, match="at least 3"):
                    interval(values, scale)
                continue
            found = interval(values, scale)
            assert found.estimate == median(values)
            assert scale.low <= found.low <= found.estimate <= found.high <= scale.high


@pytest.mark.parametrize("name", SCALES)
def test_no_interval_leaves_its_range(name: str) -> None:
    check_ranges(SCALES[name], 200)


def test_an_interval_that_leaves_its_range_is_found() -> None:
    """The same check, of Student's t on logarithms whatever the range, as it was once computed."""

    def t_on_logarithms(values: Sequence[float], scale: Scale) -> Interval:
        return seeds_interval(values, POSITIVE)

    check_ranges(SHARE, 50)
    with pytest.raises(AssertionError):
        check_ranges(SHARE, 50, t_on_logarithms)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALES)
def test_no_interval_of_ten_thousand_leaves_its_range(name: str) -> None:
    check_ranges(SCALES[name], 10_000)


@pytest.mark.parametrize("n", range(3, 21))
def test_the_median_is_the_median(n: int) -> None:
    """As NumPy computes it; a geometric mean, which stood here once, is another number."""
    values = np.random.default_rng(n).uniform(80, 100, n)
    found = seeds_interval(values.tolist(), SHARE)
    assert found.estimate == np.median(values)
    assert found.estimate != pytest.approx(np.exp(np.log(values).mean()))


def test_the_examples_that_were_wrong() -> None:
    assert seeds_interval([89.42, 91.92, 93.87], SHARE).estimate == 91.92
    assert seeds_interval([97.5, 99.17, 84.17], SHARE).high <= 100
    communication = seeds_interval([12.0, 60.0, 75.0], SHARE)
    assert communication.high <= 100
    imbalance = seeds_interval([0.0, 4.0, 8.0], POSITIVE)
    assert imbalance.low == 0.0
    explained = seeds_interval([-6.57, -0.976, 0.2], AT_MOST_ONE)
    assert explained.low < 0 < explained.high <= 1
    assert seeds_interval([-6.57, -0.976, -2.0], AT_MOST_ONE).high > 0


@pytest.mark.parametrize("n", [3, 4, 5])
@pytest.mark.parametrize("name", ["share", "positive", "real", "at most 1"])
def test_few_seeds_hold(name: str, n: int) -> None:
    """Values that are normal on the stretched scale; 2000 draws have an error of 1 percentage point (2 sigma)."""
    scale = SCALES[name]
    rng = np.random.default_rng(n)
    truth = scale.value_at(1.5)
    held = 0
    for places in rng.normal(1.5, 0.8, (2000, n)):
        found = seeds_interval([scale.value_at(place) for place in places], scale)
        held += found.low <= truth <= found.high
    assert 0.93 < held / 2000 < 0.98


def test_stretching_is_undone() -> None:
    for scale in SCALES.values():
        for place in (-5.0, -0.1, 0.0, 2.0):
            assert scale.stretched(scale.value_at(place)) == pytest.approx(place)
    assert SHARE.stretched(100.0) == math.inf and POSITIVE.stretched(0.0) == -math.inf
    assert SHARE.stretched(75.0) == pytest.approx(math.log(3))


def test_values_outside_of_a_scale_get_a_wider_one() -> None:
    assert fitting_scale(SHARE, [1.0, 120.0]) == POSITIVE
    assert fitting_scale(SHARE, [-1.0, 20.0]) == REAL
    assert fitting_scale(SHARE, [0.0, 100.0]) == SHARE
    assert seeds_interval([-1.0, 0.5, 0.7], POSITIVE).low < -1


def test_equal_values_are_an_interval_of_no_width() -> None:
    found = seeds_interval([0.0, 0.0, 0.0], POSITIVE)
    assert (found.low, found.high, found.method) == (0.0, 0.0, "all values equal")


def test_seeds_without_a_value_rank_as_the_worst() -> None:
    values = [-math.inf, 90.0, 91.0, 92.0, 93.0, 94.0, 95.0]
    found = seeds_interval_with_missing(values)
    assert found.estimate == 92.0 and found.low == -math.inf and found.high < 95.0
    half = seeds_interval_with_missing([-math.inf] * 3 + [90.0, 91.0, 92.0])
    assert half.estimate == -math.inf
    with pytest.raises(TooFewSamples, match="at least 6"):
        seeds_interval_with_missing([-math.inf, 90.0, 91.0])


@pytest.mark.parametrize("n", [6, 10, 20])
def test_ranks_hold_where_seeds_collapse(n: int) -> None:
    """A third of the seeds has no value: the median of all is the 25 % quantile of the others."""
    rng = np.random.default_rng(n)
    truth = 95 - 0.6744897501960817
    held = 0
    for _ in range(2000):
        values = rng.normal(95, 1, n)
        values[rng.random(n) < 1 / 3] = -math.inf
        found = seeds_interval_with_missing(values.tolist())
        held += found.low <= truth <= found.high
    assert held / 2000 > 0.935
