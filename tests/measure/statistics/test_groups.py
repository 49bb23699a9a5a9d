"""Holm against p-values, the chance of any wrong verdict, Kruskal-Wallis against SciPy."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deep500.errors import Deep500Error, TooFewSamples
from deep500.measure.statistics.comparison import Comparison, compare, verdict_of
from deep500.measure.statistics.effects import Effect
from deep500.measure.statistics.groups import compare_family, holm, kruskal_wallis


def known(z: float, margin: float = 0.0):
    """A comparison of known distribution: log ratio z with standard error 1."""

    def look(level: float) -> Comparison:
        reach = NormalDist().inv_cdf((1 + level) / 2)
        low, high = math.exp(z - reach), math.exp(z + reach)
        effect = Effect(math.exp(z), None, None, 0.5, None, None)
        return Comparison(
            verdict_of(low, high, margin),
            math.exp(z),
            low,
            high,
            effect,
            None,
            None,
            margin,
            level,
            1,
            1,
            "known",
        )

    return look


def holm_on_p_values(p: list[float], alpha: float) -> list[bool]:
    """The textbook: from the smallest on, reject while p <= alpha / (number of those not yet rejected)."""
    rejected = [False] * len(p)
    for k, i in enumerate(np.argsort(p)):
        if p[i] > alpha / (len(p) - k):
            break
        rejected[i] = True
    return rejected


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_the_step_down_is_holm_on_p_values(zs):
    family = holm([known(z) for z in zs])
    p = [2 * stats.norm.sf(abs(z)) for z in zs]
    assert [c.verdict != "inconclusive" for c in family] == holm_on_p_values(p, 0.05)
    assert all(
        c.verdict == ("slower" if z > 0 else "faster")
        for c, z in zip(family, zs, strict=True)
        if c.verdict != "inconclusive"
    )


def test_holm_stands_between_bonferroni_and_no_correction():
    # p = 0.012, 0.02, 0.04: Bonferroni (0.0167) rejects one, Holm (0.0167, 0.025, 0.05) all three
    zs = [stats.norm.isf(p / 2) for p in (0.02, 0.012, 0.04)]
    assert [c.verdict for c in holm([known(z) for z in zs])] == ["slower"] * 3
    assert [known(z)(1 - 0.05 / 3).verdict for z in zs] == [
        "inconclusive",
        "slower",
        "inconclusive",
    ]
    # p = 0.03, 0.04: no correction rejects both, Holm (0.025, 0.05) none
    zs = [stats.norm.isf(p / 2) for p in (0.03, 0.04)]
    assert [known(z)(0.95).verdict for z in zs] == ["slower"] * 2
    assert [c.verdict for c in holm([known(z) for z in zs])] == ["inconclusive"] * 2


def test_every_member_says_its_family_and_level():
    first, second = holm([known(9.0), known(0.0)])
    assert (first.level, second.level) == (pytest.approx(0.975), pytest.approx(0.95))
    assert "family of 2" in first.notes[-1] and "0.975" in first.notes[-1]


MARGIN = 4.0  # in standard errors: wide enough that "same" is a verdict to be had
TRUTHS = {
    "all on the margin": np.full(6, MARGIN),
    "half far beyond": np.repeat([MARGIN, 9.0], 3),
    "some surely the same": np.repeat([MARGIN, 0.0], 3),
    "spread": np.linspace(0, 2 * MARGIN, 6),
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_wrong_verdicts_of_all_three_kinds_stay_below_alpha(truth):
    # Holm's proof is for rejections; here "same" settles members too, and that raises the others' alpha.
    assert share_of_wrong_families(TRUTHS[truth], holm) <= 0.05 + 3 * 0.007


def share_of_wrong_families(truths, family, replications=1000) -> float:
    """How often any verdict of a family is wrong; three standard deviations of it are 3 * 0.007."""
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(replications):
        found = family([known(z, math.expm1(MARGIN)) for z in rng.normal(truths, 1)])
        wrong += any(is_wrong(c.verdict, t) for c, t in zip(found, truths, strict=True))
    return wrong / replications


def is_wrong(verdict: str, truth: float) -> bool:
    return {
        "slower": truth <= MARGIN,
        "faster": truth >= -MARGIN,
        "same": abs(truth) >= MARGIN,
        "inconclusive": False,
    }[verdict]


def test_without_a_correction_that_check_fails():
    truths = TRUTHS["all on the margin"]
    assert (
        share_of_wrong_families(
            truths, lambda looks: [look(0.95) for look in looks], 300
        )
        > 0.15
    )


def data(n: int, factor: float = 1.0, seed: int = 0) -> np.ndarray:
    return factor * np.random.default_rng(seed).lognormal(0, 0.05, n)


@pytest.mark.parametrize("paired", [False, True])
def test_a_family_of_data_is_holm_on_its_comparisons(paired):
    a, b, c = data(60), data(60, 1.3, 1), data(60, 1.04, 2)
    family = compare_family([(a, b), (a, c)], 0.01, 0.9, paired)
    assert family == holm(
        [
            lambda at: compare(a, b, 0.01, at, paired),
            lambda at: compare(a, c, 0.01, at, paired),
        ],
        0.9,
    )
    assert family[0].verdict == "slower" and family[0].level == pytest.approx(0.95)


def test_too_few_samples_for_the_stricter_level_are_inconclusive_and_say_so():
    # 6 values are enough for a median at 95 %, not at 97.5 %
    few, many = compare_family(
        [(data(6), data(6, 2, 1)), (data(60), data(60, 1.0, 1))], margin=0
    )
    assert few.verdict == "inconclusive" and few.level == 0.95 and few.low > 1
    assert "too few samples for the family's level 0.975" in few.notes[-2]
    assert many.level == pytest.approx(0.975)


def test_a_member_waits_until_its_level_can_be_reached():
    few, clear = compare_family([(data(6), data(6, 2, 1)), (data(60), data(60, 2, 1))])
    assert (few.verdict, clear.verdict) == (
        "slower",
        "slower",
    ) and few.level == pytest.approx(0.95)


def test_too_few_samples_for_any_level_come_back_as_the_reason():
    refused, fine = compare_family([(data(3), data(3)), (data(60), data(60, 2, 1))])
    assert isinstance(refused, TooFewSamples) and fine.verdict == "slower"


def test_an_empty_family_is_empty():
    assert compare_family([]) == []


@pytest.mark.parametrize("level", [0, 1, -1, math.nan])
def test_a_family_needs_a_level(level):
    with pytest.raises(Deep500Error, match="level"):
        holm([known(1.0)], level)


some_groups = st.lists(
    st.lists(st.integers(0, 12), min_size=1, max_size=12), min_size=2, max_size=5
)


@given(some_groups.filter(lambda g: len({v for group in g for v in group}) > 1))
def test_kruskal_wallis_agrees_with_scipy(found):
    test, oracle = kruskal_wallis(found), stats.kruskal(*found)
    assert (test.h, test.p) == pytest.approx(
        (oracle.statistic, oracle.pvalue), abs=1e-9
    )
    assert (test.df, test.n) == (len(found) - 1, sum(map(len, found)))


def test_equal_values_show_no_difference():
    test = kruskal_wallis([[1, 1, 1], [1, 1]])
    assert (test.h, test.p) == (0, 1)


def autoregressive(rng, n: int, rho: float) -> np.ndarray:
    noise = rng.normal(0, 1, n + 100)
    for i in range(1, noise.size):
        noise[i] += rho * noise[i - 1]
    return noise[100:]


def test_dependent_values_of_one_distribution_are_seldom_told_apart():
    rng = np.random.default_rng(8)
    groups = [[autoregressive(rng, 100, 0.6) for _ in range(3)] for _ in range(100)]
    assert sum(kruskal_wallis(g).p < 0.05 for g in groups) <= 10
    # without the correction
    assert sum(stats.kruskal(*g).pvalue < 0.05 for g in groups) >= 30
    assert any(
        "depend on each other" in note for note in kruskal_wallis(groups[0]).notes
    )


def test_processes_enter_by_their_medians():
    rng = np.random.default_rng(0)
    same = [[rng.normal(rng.normal(), 0.01, 50) for _ in range(5)] for _ in range(3)]
    medians = [[np.median(p) for p in group] for group in same]
    assert kruskal_wallis(same).p == pytest.approx(stats.kruskal(*medians).pvalue)
    assert (
        kruskal_wallis(same).n == 15
        and "on process medians" in kruskal_wallis(same).notes
    )
    # what pseudo-replication would have said
    pooled = stats.kruskal(*[np.concatenate(group) for group in same])
    assert pooled.pvalue < 0.001 < kruskal_wallis(same).p


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ([[1.0, 2.0]], "two or more"),
        ([], "two or more"),
        ([[1.0], []], "group 2: no samples"),
        ([[1.0], [math.nan]], "group 2: .* finite"),
        ([[1.0, 2.0], [np.ones(3), np.ones(3)]], "several processes"),
    ],
)
def test_bad_groups_are_named_in_one_line(wrong, says):
    with pytest.raises(Deep500Error, match=says) as error:
        kruskal_wallis(wrong)
    assert "\n" not in str(error.value)
