"""Two one-sided tests: their error rates by simulation, and their p against SciPy's t-tests."""

import numpy as np
import pytest
from scipy import stats

from deep500.errors import Deep500Error, TooFewSamples
from deep500.measure.statistics.equivalence import equivalence, median_equivalence

TRIALS = 4000


def rates(
    true_difference: float, spread: float, n: int, margin: float = 1.5
) -> dict[str, float]:
    """How often each verdict is given over many experiments with normal differences."""
    rng = np.random.default_rng(n)
    counts = {"equivalent": 0, "different": 0, "inconclusive": 0}
    for differences in rng.normal(true_difference, spread, (TRIALS, n)):
        counts[equivalence(differences.tolist(), margin).verdict] += 1
    return {word: count / TRIALS for word, count in counts.items()}


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_each_wrong_verdict_is_given_in_five_percent_at_most(
    n: int, spread: float
) -> None:
    """At the margin itself, both verdicts are wrong most often: each in 5 % of the experiments."""
    at_the_margin = rates(1.5, spread, n)
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / TRIALS)
    assert at_the_margin["equivalent"] < limit and at_the_margin["different"] < limit
    assert rates(3.0, spread, n)["equivalent"] < at_the_margin["equivalent"] + 0.01
    assert rates(0.0, spread, n)["different"] < at_the_margin["different"] + 0.01


def test_what_is_clear_is_decided() -> None:
    assert rates(0.0, 0.3, 5)["equivalent"] > 0.99
    assert rates(5.0, 0.3, 5)["different"] > 0.99
    assert rates(0.0, 20.0, 5)["inconclusive"] > 0.9


def test_p_is_that_of_two_t_tests() -> None:
    differences = np.random.default_rng(0).normal(0.3, 0.8, 7)
    answer = equivalence(differences.tolist(), 1.5)
    upper = stats.ttest_1samp(differences, 1.5, alternative="less").pvalue
    lower = stats.ttest_1samp(differences, -1.5, alternative="greater").pvalue
    assert answer.p == pytest.approx(max(upper, lower), rel=1e-9)
    assert (answer.p < 0.05) == (answer.verdict == "equivalent")


def test_a_planted_shift_is_not_equivalent() -> None:
    noise = np.random.default_rng(1).normal(0, 0.2, 6)
    assert equivalence(noise.tolist(), 1.5).verdict == "equivalent"
    assert equivalence((noise + 2.5).tolist(), 1.5).verdict == "different"


def test_bad_input() -> None:
    with pytest.raises(
        TooFewSamples, match="2 pairs were given; at least 3 are needed"
    ):
        equivalence([0.0, 0.1], 1.0)
    for margin in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(Deep500Error, match="the margin is"):
            equivalence([0.0, 0.1, 0.2], margin)
    with pytest.raises(Deep500Error, match="alpha is"):
        equivalence([0.0, 0.1, 0.2], 1.0, alpha=0.7)


def test_equal_values_are_equivalent_and_a_constant_shift_is_not() -> None:
    assert equivalence([0.0] * 5, 0.1).verdict == "equivalent"
    assert equivalence([1.0] * 5, 0.1).verdict == "different"


def collapsing(rng: np.random.Generator, n: int, rate: float) -> np.ndarray:
    """Hardly any difference, except for seeds that collapse by 20 points."""
    return rng.normal(0, 0.3, n) - 20 * (rng.random(n) < rate)


# The median of each is at the margin of 1.5, or beyond it: "equivalent" is wrong.
AT_THE_MARGIN = {
    "normal": lambda rng, n: rng.normal(1.5, 1, n),
    "exponential": lambda rng, n: rng.exponential(1.5 / np.log(2), n),
    "log-normal": lambda rng, n: 1.5 * rng.lognormal(0, 1, n),
    "mixture": lambda rng, n: collapsing(rng, n, 0.55),
}


def share_equivalent(law, n: int, trials: int = 2000) -> float:
    rng = np.random.default_rng(n)
    verdicts = [
        median_equivalence(law(rng, n).tolist(), 1.5).verdict for _ in range(trials)
    ]
    return verdicts.count("equivalent") / trials


@pytest.mark.parametrize("n", [6, 10, 20])
@pytest.mark.parametrize("law", AT_THE_MARGIN)
def test_the_median_is_wrongly_equivalent_in_five_percent_at_most(
    law: str, n: int
) -> None:
    limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    assert share_equivalent(AT_THE_MARGIN[law], n) < limit


@pytest.mark.parametrize("n", [6, 10, 20])
def test_collapses_that_were_seen_are_not_equivalent(n: int) -> None:
    """15 % collapse: equivalent only if none of n did, and that much is said to be unseen."""
    share = share_equivalent(lambda rng, m: collapsing(rng, m, 0.15), n)
    assert share == pytest.approx(0.85**n, abs=0.04)
    unseen = median_equivalence([0.0] * n, 1.5).unseen
    assert unseen is not None and (1 - unseen) ** n == pytest.approx(0.05)
    hidden = share_equivalent(lambda rng, m: collapsing(rng, m, unseen), n)
    assert hidden < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


def test_the_median_decides_what_is_clear() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.3, 6)
    assert median_equivalence(noise.tolist(), 1.5).verdict == "equivalent"
    assert median_equivalence((noise + 5).tolist(), 1.5).verdict == "different"
    one_far_off = median_equivalence([0.0] * 19 + [-40.0], 1.5)
    assert one_far_off.verdict == "inconclusive" and one_far_off.difference == 0.0


@pytest.mark.parametrize("n", [3, 5])
def test_fewer_than_six_pairs_are_refused(n: int) -> None:
    with pytest.raises(TooFewSamples, match=f"{n} pairs were given; at least 6"):
        median_equivalence([0.0] * n, 1.5)
