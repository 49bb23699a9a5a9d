"""Performance profiles: a closed-form example, their sensitivity, and why no mean of ratios stands in for them."""

import math

import numpy as np
import pytest

from deep500.errors import Deep500Error
from deep500.measure.statistics.profiles import (
    _ends,
    _weights,
    performance_profiles,
)

# Ratios to the best: fast 1, 1, 4, failed; steady 2, 2, 1, 1.
COSTS = {
    "fast": {"p": 1.0, "q": 10.0, "r": 4.0, "s": None},
    "steady": {"p": 2.0, "q": 20.0, "r": 1.0, "s": 5.0},
}


def test_the_closed_form():
    found = performance_profiles(COSTS, tau_max=4.0)
    steady, fast = found.systems
    assert found.order == ["steady", "fast"] and found.problems == ("p", "q", "r", "s")
    assert fast.ratios == (1.0, 1.0, 4.0, math.inf) and steady.ratios == (
        2.0,
        2.0,
        1.0,
        1.0,
    )
    assert [fast.share(tau) for tau in (1, 3.9, 4, 100)] == [0.5, 0.5, 0.75, 0.75]
    assert (fast.wins, fast.solved, steady.wins, steady.solved) == (0.5, 0.75, 0.5, 1.0)
    # the area over log τ up to 4: 1 for a win, 1/2 for a ratio of 2, 0 for 4 and for a failure
    assert fast.score == pytest.approx((1 + 1 + 0 + 0) / 4)
    assert steady.score == pytest.approx((0.5 + 0.5 + 1 + 1) / 4)


def test_the_score_is_the_area_under_the_profile():
    rng = np.random.default_rng(0)
    costs = {
        s: {str(p): float(c) for p, c in enumerate(rng.lognormal(0, 1, 9))}
        for s in "abc"
    }
    found = performance_profiles(costs, tau_max=5.0)
    grid = np.linspace(0, math.log(5.0), 20001)
    for profile in found.systems:
        heights = [profile.share(math.exp(x)) for x in grid]
        area = np.trapezoid(heights, grid) / math.log(5.0)
        assert profile.score == pytest.approx(area, abs=1e-3)


def test_a_mean_of_ratios_would_rank_otherwise():
    """A is twice as fast on nine of ten problems, and slow on the last; means of ratios depend on who is the base."""
    a = {str(p): 1.0 for p in range(9)} | {"9": 30.0}
    b = {str(p): 2.0 for p in range(9)} | {"9": 1.0}
    ratios = np.array([a[p] / b[p] for p in a])
    assert ratios.mean() > 1  # A looks slower, with B as the base ...
    # ... and B looks slower, with A as the base: it says nothing
    assert (1 / ratios).mean() > 1
    assert performance_profiles({"a": a, "b": b}).order == ["a", "b"]


def test_leaving_out_a_problem_shows_on_what_the_order_rests():
    costs = {
        "a": {"easy": 1.0, "odd": 1.0, "hard": 1.3},
        "b": {"easy": 1.1, "odd": 40.0, "hard": 1.0},
    }
    found = performance_profiles(costs)
    assert found.order == ["a", "b"] and found.swapped_by == ("odd",)
    [a, b] = found.systems
    assert a.without["odd"] < b.without["odd"] and a.low is a.high is None


def test_an_order_that_does_not_depend_on_the_problems():
    costs = {"a": dict.fromkeys("pqrs", 1.0), "b": dict.fromkeys("pqrs", 3.0)}
    found = performance_profiles(costs)
    assert found.swapped_by == ()


def areas_law(random: np.random.Generator, law: str, n: int) -> np.ndarray:
    """What problems add to the score of a system, from 0 (failed) to 1 (the best)."""
    if law == "won or failed":
        return (random.random(n) < 0.8).astype(float)
    costs = random.lognormal(0, 0.5, (2, n))
    ratios = costs[0] / costs.min(axis=0)
    areas = 1 - np.log(np.minimum(ratios, 4)) / math.log(4)
    if law == "a fifth fails":
        areas *= random.random(n) > 0.2
    return areas


@pytest.mark.parametrize("law", ["equal systems", "a fifth fails", "won or failed"])
@pytest.mark.parametrize("n", [6, 10, 20])
def test_the_interval_of_a_score_holds(law: str, n: int) -> None:
    """A bootstrap held in 81, 89 and 93 % of such draws, and less where problems are won or failed."""
    random = np.random.default_rng(n)
    truth = areas_law(random, law, 1_000_000).mean()
    weights = _weights(n, 0)
    held = 0
    for _ in range(500):
        low, high = _ends(areas_law(random, law, n), weights, 0.95)
        assert low is not None and high is not None and 0 <= low <= high <= 1
        held += low <= truth <= high
    assert held / 500 > 0.95 - 2 * math.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_below_six_problems_a_score_has_no_interval(n: int) -> None:
    costs = {
        system: {str(p): float(1 + (p + i) % 3) for p in range(n)}
        for i, system in enumerate("ab")
    }
    for profile in performance_profiles(costs).systems:
        assert (profile.low is None) == (n < 6) == (profile.high is None)
        if profile.low is not None and profile.high is not None:
            assert profile.low <= profile.score <= profile.high


def test_a_system_that_is_best_everywhere_might_not_be_elsewhere() -> None:
    costs = {"a": dict.fromkeys("pqrstu", 1.0), "b": dict.fromkeys("pqrstu", 3.0)}
    best = performance_profiles(costs).systems[0]
    # of six successes, Clopper & Pearson's lower end is 0.025 ** (1 / 6)
    assert best.high == 1.0 and best.low == pytest.approx(0.025 ** (1 / 6), abs=0.02)


def test_scores_do_not_depend_on_units_or_on_the_order_of_systems():
    scaled = {
        s: {p: None if c is None else 60 * c for p, c in row.items()}
        for s, row in COSTS.items()
    }
    turned = dict(reversed(scaled.items()))
    first, second = performance_profiles(COSTS), performance_profiles(turned)
    assert {p.system: p.score for p in first.systems} == {
        p.system: p.score for p in second.systems
    }


def test_only_problems_that_all_tried_count_and_one_that_nobody_solved_is_a_failure_for_all():
    costs = {
        "a": {"p": 1.0, "only a": 1.0, "none": None},
        "b": {"p": 2.0, "none": None},
    }
    found = performance_profiles(costs)
    assert found.problems == ("p", "none")
    assert [profile.solved for profile in found.systems] == [0.5, 0.5]


@pytest.mark.parametrize(
    "costs",
    [{}, {"a": {"p": 1.0}, "b": {"q": 1.0}}, {"a": {"p": 0.0}}, {"a": {"p": math.nan}}],
)
def test_nonsense_is_refused(costs):
    with pytest.raises(Deep500Error):
        performance_profiles(costs)


def test_one_problem_says_nothing_about_other_choices():
    [only] = performance_profiles({"a": {"p": 1.0}}).systems
    assert only.score == 1.0 and math.isnan(only.without["p"])
