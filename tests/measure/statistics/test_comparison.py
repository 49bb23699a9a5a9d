"""Comparisons: their laws, their coverage by simulation, their verdicts, and what they refuse."""

import math
import runpy
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from deep500.errors import Deep500Error, Refused, TooFewSamples
from deep500.measure.statistics.comparison import (
    compare,
    more_needed,
    quantile_differences,
    verdict_of,
)
from deep500.measure.statistics.intervals import interval

bench = runpy.run_path(
    str(Path(__file__).parents[3] / "benchmarks" / "comparison_coverage.py")
)
Case, simulate, series, processes = (
    bench[name] for name in ("Case", "simulate", "series", "processes")
)
MIRRORED = {
    "slower": "faster",
    "faster": "slower",
    "same": "same",
    "inconclusive": "inconclusive",
}
PAIRED = pytest.mark.parametrize("paired", [False, True])


@st.composite
def data(draw):
    """Two sides of the same layout, in the forms that users have: ticks and floats, one series and processes."""
    count = draw(st.sampled_from([1, 1, 3, 4, 6, 7]))
    n = draw(st.integers(6, 60)) if count == 1 else draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    spread, ratio, scale = (
        draw(st.floats(0, 0.5)),
        draw(st.floats(0.5, 2)),
        draw(st.sampled_from([1e-9, 1, 1e4])),
    )
    a, b = (
        [scale * factor * rng.lognormal(0, spread, n) for _ in range(count)]
        for factor in (1, ratio)
    )
    if draw(st.booleans()):  # a coarse clock makes ties
        a, b = (
            [np.maximum(np.round(20 * x / scale), 1) * scale / 20 for x in side]
            for side in (a, b)
        )
    return (a[0], b[0]) if count == 1 else (a, b)


def compared(a, b, **options):
    try:
        return compare(a, b, **options)
    except TooFewSamples:
        assume(False)


@PAIRED
@given(data())
def test_swapping_the_sides_mirrors_everything(paired, sides):
    a, b = sides
    one, other = compared(a, b, paired=paired), compared(b, a, paired=paired)
    assert (one.ratio, one.low, one.high) == pytest.approx(
        (1 / other.ratio, 1 / other.high, 1 / other.low)
    )
    if all(
        abs(end - edge) > 1e-9
        for end in (one.low, one.high)
        for edge in (1.02, 1 / 1.02)
    ):
        assert one.verdict == MIRRORED[other.verdict]
    assert one.effect.shift == pytest.approx(1 / other.effect.shift)
    assert one.effect.probability == pytest.approx(1 - other.effect.probability)
    assert (one.a, one.b) == (other.b, other.a)


@PAIRED
@given(data(), st.floats(0.01, 100))
def test_scaling_b_scales_the_ratio(paired, sides, factor):
    a, b = sides
    one = compared(a, b, paired=paired)
    scaled = compared(
        a, [factor * x for x in b] if isinstance(b, list) else factor * b, paired=paired
    )
    expected = tuple(factor * x for x in (one.ratio, one.low, one.high))
    assert (scaled.ratio, scaled.low, scaled.high) == pytest.approx(expected)


@PAIRED
@given(data())
def test_the_interval_contains_the_ratio(paired, sides):
    found = compared(*sides, paired=paired)
    assert 0 < found.low <= found.ratio <= found.high < math.inf
    assert verdict_of(found.low, found.high, found.margin) == found.verdict


@PAIRED
@given(data())
def test_identical_data_differ_by_nothing(paired, sides):
    a, _ = sides
    found = compared(a, a, paired=paired)
    assert found.ratio == 1 and found.verdict in ("same", "inconclusive")
    assert (found.effect.shift, found.effect.probability) == (1, 0.5)


@given(data())
def test_a_wider_level_gives_a_wider_interval(sides):
    narrow, wide = compared(*sides, level=0.9), compared(*sides, level=0.95)
    assert wide.low <= narrow.low * (1 + 1e-12) and narrow.high <= wide.high * (
        1 + 1e-12
    )


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (1.021, 1.03, "slower"),
        (0.97, 0.98, "faster"),
        (0.99, 1.01, "same"),
        (1.0, 1.0, "same"),
        (1.01, 1.03, "inconclusive"),
        (0.97, 1.01, "inconclusive"),
        (0.9, 1.1, "inconclusive"),
        (1.02, 1.03, "inconclusive"),
        (1.01, 1.02, "inconclusive"),
        (0.97, 1 / 1.02, "inconclusive"),
    ],
)
def test_verdicts_at_and_around_a_margin_of_two_per_cent(low, high, says):
    assert verdict_of(low, high, 0.02) == says


def test_without_a_margin_nothing_is_the_same():
    assert (
        verdict_of(1.0, 1.0, 0.0) == "inconclusive"
        and verdict_of(1 + 1e-12, 1.1, 0.0) == "slower"
    )


def test_a_pair_of_single_values_is_known_exactly():
    found = compare(np.full(8, 2.0), np.full(8, 3.0))
    assert (found.ratio, found.low, found.high) == pytest.approx(
        (1.5, 1.5, 1.5)
    ) and found.verdict == "slower"
    assert (found.a.estimate, found.b.estimate) == (2, 3)


def test_the_unpaired_interval_is_mover_of_both_sides():
    rng = np.random.default_rng(2)
    a, b = rng.lognormal(0, 0.1, 40), 1.1 * rng.lognormal(0, 0.3, 25)
    of_a, of_b = interval(np.log(a)), interval(np.log(b))
    found = compare(a, b)
    low = (
        of_b.estimate
        - of_a.estimate
        - math.sqrt((of_b.estimate - of_b.low) ** 2 + (of_a.high - of_a.estimate) ** 2)
    )
    assert math.log(found.low) == pytest.approx(low) and "MOVER" in found.method
    assert found.n == 25 and (found.a, found.b) == (interval(a), interval(b))


def test_the_paired_interval_is_that_of_the_log_ratios():
    rng = np.random.default_rng(2)
    common = rng.lognormal(0, 0.5, 40)
    a, b = (
        common * rng.lognormal(0, 0.01, 40),
        1.1 * common * rng.lognormal(0, 0.01, 40),
    )
    found, expected = compare(a, b, paired=True), interval(np.log(b) - np.log(a))
    assert (found.ratio, found.low, found.high) == pytest.approx(
        tuple(math.exp(x) for x in (expected.estimate, expected.low, expected.high))
    )
    # pairing takes the noise out
    assert found.verdict == "slower" and compare(a, b).verdict == "inconclusive"


@PAIRED
def test_few_processes_use_t_on_logs_wherever_the_ratio_lies(paired):
    rng = np.random.default_rng(3)
    a, b = (
        [rng.lognormal(rng.normal(0, 0.1), 0.02, 9) for _ in range(4)] for _ in range(2)
    )
    one, far = (
        compare(a, b, paired=paired),
        compare(a, [1000 * x for x in b], paired=paired),
    )
    # logarithms of logarithms would differ
    assert far.high / far.low == pytest.approx(one.high / one.low)
    assert one.processes == 4 and "t on process medians" in one.method


def test_ties_of_a_coarse_clock_stay_ties_in_any_unit():
    ticks = np.random.default_rng(7).integers(8, 14, (2, 60)) * 1.0
    found = [
        compare(ticks[0] * unit, ticks[1] * unit * 1.7, paired=True)
        for unit in (1, 0.05e-9, 1 / 3, 0.7)
    ]
    assert all(
        f.high / f.low == pytest.approx(found[0].high / found[0].low, rel=1e-9)
        for f in found
    )
    # what a mean of logarithms does to equal values
    noisy = ticks[0] * (1 + 1e-15 * np.arange(60) % 3)
    assert compare(ticks[0], noisy, paired=True).effect.probability == 0.5


def test_a_comparison_says_what_it_knows_of_dependence_and_of_each_side():
    rng = np.random.default_rng(0)
    # each side alone wanders; their ratio does not
    drift = np.exp(np.cumsum(rng.normal(0, 0.2, 60)))
    found = compare(
        drift * rng.lognormal(0, 0.01, 60),
        drift * rng.lognormal(0, 0.01, 60),
        paired=True,
    )
    assert found.verdict == "same"
    assert found.a is None and any(
        "no interval for a alone" in note for note in found.notes
    )
    assert found.effect.shift_low is not None


def test_bounds_of_the_effect_need_independent_values_of_one_process():
    rng = np.random.default_rng(1)
    independent = compare(rng.lognormal(0, 0.1, 15), rng.lognormal(0, 0.1, 15)).effect
    assert independent.shift_low < independent.shift < independent.shift_high
    dependent = compare(
        *(np.exp(bench["autoregressive"](rng, 300, 0.8)) for _ in range(2))
    ).effect
    a, b = ([rng.lognormal(0, 0.1, 9) for _ in range(6)] for _ in range(2))
    several = compare(a, b).effect
    assert (
        dependent.shift_low is None
        and several.shift_low is None
        and several.probability_low is None
    )


def test_a_comparison_is_frozen():
    with pytest.raises(FrozenInstanceError):
        compare(np.ones(6), np.ones(6)).ratio = 2  # type: ignore[misc]


# Coverage and verdicts, seeded; the complete tables are benchmarks/comparison_coverage.py.
SMALL = [
    case
    for case in bench["COVERAGE"]
    if case.name
    in (
        "lognormal .5, n = 10, 10",
        "lognormal .5, n = 10, 200",
        "AR .6, n = 100, 100",
        "4, 4 processes, between 1",
        "4, 10 processes, between 2",
        "10, 10 processes, between 1",
        "paired, 6 processes, between 1",
    )
]


def reaches_the_goal(found) -> bool:
    """Whether the coverage is not significantly below 93.5 %: of 42 cases at once, the share itself is too noisy."""
    return (
        binomtest(found.covered, found.made, 0.935, alternative="less").pvalue > 0.001
    )


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_interval_covers_the_true_ratio(case):
    found = simulate(case, 150, seed=11)
    assert reaches_the_goal(found) and found.refused <= 15, found


@pytest.mark.slow
@pytest.mark.parametrize("case", bench["COVERAGE"], ids=lambda case: case.name)
def test_the_interval_covers_the_true_ratio_in_every_case(case):
    found = simulate(case, 600, seed=12, ratio=1.0)
    assert reaches_the_goal(found) and found.width < 2, found


def test_the_check_of_coverage_fails_on_pooled_processes():
    pooled = Case(
        "pooled",
        *[lambda rng: rng.permutation(np.concatenate(processes(5, 2)(rng)))] * 2,
    )
    assert not reaches_the_goal(simulate(pooled, 100, seed=11))


@pytest.mark.parametrize("case", bench["VERDICTS"], ids=lambda case: case.name)
def test_two_samples_of_one_thing_are_not_told_apart(case):
    found = simulate(case, 60, seed=13, ratio=1.0)
    assert found.verdicts.get("slower", 0) + found.verdicts.get("faster", 0) == 0, found


@pytest.mark.parametrize(
    "case",
    [c for c in bench["VERDICTS"] if "paired" in c.name or "10, 10" in c.name],
    ids=lambda case: case.name,
)
def test_a_planted_five_per_cent_is_found(case):
    found = simulate(case, 60, seed=14, ratio=1.05)
    assert found.verdicts["slower"] >= 51 and not {"faster", "same"} & set(
        found.verdicts
    ), found


def test_quantile_differences_tell_where_the_difference_lies():
    rng = np.random.default_rng(4)
    a = rng.lognormal(0, 0.05, 400)
    # a slow path now and then
    b = np.where(rng.random(400) < 0.15, 2.0, 1.0) * rng.lognormal(0, 0.05, 400)
    rows = {row.q: row for row in quantile_differences(a, b)}
    assert rows[0.25].low < 1 < rows[0.25].high and rows[0.9].low > 1.3
    assert all(
        row.refused is None and row.low <= row.ratio <= row.high
        for row in rows.values()
    )
    assert (rows[0.5].ratio, rows[0.5].low) == pytest.approx(
        (compare(a, b).ratio, compare(a, b).low)
    )


def test_a_refused_quantile_is_a_row_with_its_reason():
    rows = quantile_differences(
        np.arange(1.0, 41), np.arange(1.0, 61)[::-1] % 7 + 1, (0.5, 0.99)
    )
    assert (
        rows[1].ratio is None
        and "p99" in rows[1].refused
        and "needed" in rows[1].refused
    )


@pytest.mark.parametrize(("n", "precision"), [(50, 0.02), (400, 0.005)])
def test_more_needed_is_enough(n, precision):
    rng = np.random.default_rng(5)
    few = rng.lognormal(0, 0.2, n)
    more = more_needed(interval(few), precision)
    assert more > n
    assert interval(
        np.concatenate([few, rng.lognormal(0, 0.2, more)])
    ).half_width == pytest.approx(precision, rel=0.4)


def test_more_needed_counts_processes_where_there_are_several():
    rng = np.random.default_rng(6)
    a, b = (
        [rng.lognormal(rng.normal(0, 0.02), 0.01, 20) for _ in range(6)]
        for _ in range(2)
    )
    found = compare(a, b)
    half = math.log(found.high / found.low) / 2
    assert more_needed(found, 0.005) == math.ceil(
        6 * (half / math.log1p(0.005)) ** 2 - 6
    )
    assert more_needed(found, 10.0) == 1


@pytest.mark.parametrize("precision", [0, -1, math.nan, math.inf])
def test_more_needed_wants_a_precision(precision):
    with pytest.raises(Deep500Error, match="precision"):
        more_needed(interval(np.arange(1.0, 9)), precision)


def test_more_needed_wants_positive_values():
    with pytest.raises(Deep500Error, match="positive"):
        more_needed(interval(np.arange(-4.0, 4)), 0.1)
    assert (
        more_needed(replace(interval(np.arange(1.0, 9)), low=1.0, high=1.0), 0.1) == 1
    )


GOOD = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize(
    ("b", "options", "says"),
    [
        ([*GOOD, math.nan], {}, "b: .*finite"),
        ([*GOOD, math.inf], {}, "b: .*finite"),
        ([*GOOD, 0.0], {}, "b holds 0: .*above zero"),
        ([*GOOD, -1.5], {}, "b holds -1.5"),
        ([*GOOD, 1e200], {}, "b: .*finite"),
        ([*GOOD, 1e-200], {}, "b holds 1e-200"),
        ([], {}, "b: no samples"),
        ([GOOD, []], {}, "b: no samples"),
        ([GOOD, [[1.0], [2.0]]], {}, "b: .*dimension"),
        ([[[1.0], [2.0, 3.0]]], {}, "b: "),
        (["x"], {}, "b: .*number"),
        (None, {}, "b: .*number"),
        (3.0, {}, "b: .*dimension"),
        (np.ones((2, 3)), {}, "b: .*dimension"),
        (GOOD, {"margin": -0.01}, "margin"),
        (GOOD, {"margin": math.nan}, "margin"),
        (GOOD, {"margin": math.inf}, "margin"),
        (GOOD, {"level": 0}, "level"),
        (GOOD, {"level": 1.0}, "level"),
        (GOOD, {"level": math.nan}, "level"),
        (GOOD, {"quantile": 1.5}, "quantile"),
        (GOOD[:5], {"paired": True}, "6 values of a and 5 of b"),
        ([GOOD, GOOD], {"paired": True}, "a has 1 processes and b 2"),
    ],
)
def test_bad_input_is_named_in_one_line(b, options, says):
    with pytest.raises(Deep500Error, match=says) as error:
        compare(GOOD, b, **options)
    assert "\n" not in str(error.value)


def test_paired_ratios_have_no_other_quantiles():
    with pytest.raises(Refused, match="paired=False"):
        compare(GOOD, GOOD, paired=True, quantile=0.9)


@PAIRED
def test_too_few_values_are_refused(paired):
    with pytest.raises(TooFewSamples, match="at least 6"):
        compare(GOOD[:5], GOOD[:5], paired=paired)
    with pytest.raises(TooFewSamples, match="at least 3"):
        compare([GOOD, GOOD], [GOOD, GOOD], paired=paired)
