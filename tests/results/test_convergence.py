"""The curve of convergence: median, range and interval over seeds."""

import numpy as np
import pytest

from deep500.contracts.task import Quality
from deep500.measure.statistics.scales import SHARE
from deep500.measure.statistics.seeds import seeds_interval
from deep500.reports.canvas import settings
from deep500.results.outcomes.convergence import convergence, convergence_band
from deep500.results.outcomes.curves import losses, quality
from deep500.results.outcomes.data import outcome_data

from .test_splitting import record_of

ACCURACY = Quality("accuracy", "%", "higher")


def test_the_band_holds_median_range_and_interval():
    ways = [(3, 0.01), (4, 0.01), (2, 0.01), (5, 0.01), (3, 0.01), (6, 0.01), (3, 0.01)]
    band = convergence_band(outcome_data(record_of(ways)), ACCURACY)
    table = np.array(
        [[95.0 if e >= when else 50.0 for e in range(1, 9)] for when, _ in ways]
    )
    assert band is not None and band.steps == [10 * e for e in range(1, 9)]
    assert band.median == np.median(table, axis=0).tolist()
    assert (band.worst, band.best) == (
        table.min(axis=0).tolist(),
        table.max(axis=0).tolist(),
    )
    known = seeds_interval(table[:, 2].tolist(), SHARE)
    assert band.low is not None and band.high is not None
    assert (band.low[2], band.high[2]) == (known.low, known.high)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_a_band_of_few_seeds_stays_within_the_range_and_around_the_median(count):
    """50 and 95 % in one epoch: t on logarithms went up to 300 %."""
    ways = [(2 + seed, 0.01) for seed in range(count)]
    band = convergence_band(outcome_data(record_of(ways)), ACCURACY)
    assert band is not None and band.low is not None and band.high is not None
    for low, middle, high in zip(band.low, band.median, band.high, strict=True):
        assert 0 <= low <= middle <= high <= 100


def test_the_picture_says_what_its_bands_are():
    with settings():
        picture = convergence(
            outcome_data(record_of([(3, 0.01), (4, 0.01), (2, 0.01)]))
        )
    assert picture is not None and "interval of the median" in picture.svg
    assert (
        "95 % interval of the median" in picture.caption
        and "n = 3 seeds" in picture.caption
    )


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_seeds_have_no_interval_and_one_has_no_band(count):
    band = convergence_band(outcome_data(record_of([(3, 0.01)] * count)), ACCURACY)
    assert (band is None) == (count == 1)
    assert band is None or band.low is None


@pytest.mark.parametrize("count", [6, 10])
@pytest.mark.parametrize("draw", [quality, losses])
def test_many_seeds_are_a_median_and_a_band(draw, count):
    with settings():
        picture = draw(outcome_data(record_of([(3, 0.01)] * count)))
    assert picture is not None and f"n = {count} seeds" in picture.caption
    assert ("seed 0" in picture.svg) == (count == 6)
    assert ("Band:" in picture.caption) == (count == 10)
