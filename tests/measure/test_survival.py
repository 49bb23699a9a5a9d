"""Times with censored runs, against SciPy's estimator and a published example."""

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from deep500.errors import Deep500Error, TooFewSamples
from deep500.measure.statistics.survival import median_time, survival_curve

# Freireich et al. (1963), 6-mercaptopurine: weeks of remission, as in every textbook on survival.
ARRIVED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
CENSORED = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
TIMES = [*ARRIVED, *CENSORED]
EVENTS = [True] * len(ARRIVED) + [False] * len(CENSORED)


def test_the_textbook_example():
    found = median_time(TIMES, EVENTS)
    # R's survfit, log-log
    assert (found.estimate, found.low, found.high) == (23, 13, None)
    assert (found.n, found.censored) == (21, 12)


def test_the_curve_is_scipys():
    rng = np.random.default_rng(3)
    times, events = rng.exponential(1.0, 40).round(2), rng.random(40) < 0.6
    steps = survival_curve(times.tolist(), events.tolist())
    theirs = ecdf(CensoredData(uncensored=times[events], right=times[~events])).sf
    at_events = theirs.evaluate([step.time for step in steps])
    np.testing.assert_allclose([step.survival for step in steps], at_events, rtol=1e-12)


def test_the_interval_is_scipys_curve_inverted():
    rng = np.random.default_rng(4)
    for _ in range(20):
        times, events = rng.exponential(1.0, 25), rng.random(25) < 0.7
        # where all or none are left, SciPy has no interval
        events[times.argmax()] = False
        events[times.argmin()] = True
        found = median_time(times.tolist(), events.tolist(), level=0.9)
        sf = ecdf(CensoredData(uncensored=times[events], right=times[~events])).sf
        ends = sf.confidence_interval(confidence_level=0.9, method="log-log")
        for mine, curve in ((found.low, ends.low), (found.high, ends.high)):
            below = curve.quantiles[curve.probabilities <= 0.5]
            assert mine == (below[0] if len(below) else None)


def test_a_median_that_is_not_reached_is_not_invented():
    found = median_time([1.0] + [5.0] * 4, [True] + [False] * 4)
    assert found.estimate is None and found.high is None
    none = median_time([5.0] * 5, [False] * 5)
    assert (none.estimate, none.low, none.high) == (None, None, None)


def test_dropping_censored_runs_would_be_wrong():
    """Nine of ten runs gave up at 10 s: the median lies beyond, and not at the second that one of them took."""
    times, arrived = [1.0] + [10.0] * 9, [True] + [False] * 9
    assert median_time(times, arrived).estimate is None
    assert (
        np.median([t for t, event in zip(times, arrived, strict=True) if event]) == 1.0
    )


def test_without_censoring_it_is_the_lower_median():
    assert median_time([3.0, 1.0, 2.0, 4.0, 5.0, 6.0], [True] * 6).estimate == 3.0
    assert median_time([3.0, 1.0, 2.0, 4.0, 5.0], [True] * 5).estimate == 3.0


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_below_five_runs_it_is_refused(n):
    with pytest.raises(TooFewSamples, match=f"{n} runs were given.*at least 5"):
        median_time([1.0] * n, [True] * (n - 1) + [False])


@pytest.mark.parametrize("n", [6, 10, 20])
@pytest.mark.parametrize("share", [0.5, 0.7])
def test_runs_that_never_arrive_are_not_censored(n, share):
    """Half or more diverge at 1 s, the others arrive at about 10 s: "never" is the truth, and has to be possible."""
    rng = np.random.default_rng(n)
    never_excluded = as_censored = 0
    for _ in range(300):
        lost = rng.random(n) < share
        times = rng.normal(10, 0.1, n)
        arrived = (~lost).tolist()
        found = median_time(np.where(lost, np.inf, times).tolist(), arrived)
        never_excluded += found.high is not None
        wrong = median_time(np.where(lost, 1.0, times).tolist(), arrived)
        as_censored += wrong.estimate is not None
    # what the first procedure did: a finite median nearly always
    assert as_censored > 250
    assert never_excluded <= 300 * 0.05


def test_the_interval_covers_the_true_median():
    """Exponential times, censored at a time that 30 % reach; n = 12, as few seeds as one would run."""
    rng = np.random.default_rng(0)
    truth, covered, total = np.log(2), 0, 400
    for _ in range(total):
        times = rng.exponential(1.0, 12)
        arrived = times < 1.2
        found = median_time(np.minimum(times, 1.2).tolist(), arrived.tolist())
        low = 0.0 if found.low is None else found.low
        high = np.inf if found.high is None else found.high
        covered += low <= truth <= high
    assert covered / total > 0.92


def test_nonsense_is_refused():
    for times, arrived in (
        ([], []),
        ([1.0], [True, False]),
        ([-1.0], [True]),
        ([np.inf], [True]),
    ):
        with pytest.raises(Deep500Error):
            median_time(times, arrived)
    with pytest.raises(Deep500Error, match="level"):
        median_time([1.0], [True], level=1.5)
