"""Laws of intervals, coverage by simulation, refusals; a wrong procedure must fail the same simulation."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deep500.errors import Deep500Error, Refused, TooFewSamples
from deep500.measure.statistics.bootstrap import bootstrap
from deep500.measure.statistics.intervals import (
    Interval,
    interval,
    mean_interval,
    smallest_sample,
)

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
_spec = importlib.util.spec_from_file_location(
    "coverage_benchmark", BENCHMARKS / "coverage.py"
)
assert _spec and _spec.loader
simulation = importlib.util.module_from_spec(_spec)
sys.path.insert(0, str(BENCHMARKS))  # as when it is run
_spec.loader.exec_module(simulation)
rows = sys.modules["_simulation"]
sys.path.remove(str(BENCHMARKS))

numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
series = st.lists(numbers, min_size=8, max_size=120).map(np.array)
processes = st.lists(
    st.lists(numbers, min_size=1, max_size=12).map(np.array), min_size=3, max_size=9
)
quantiles = st.sampled_from([0.2, 0.5, 0.7])
levels = st.sampled_from([0.5, 0.8, 0.95])
shares = st.floats(0, 1, exclude_min=True, exclude_max=True)


def answer(*args: object) -> Interval | None:
    try:
        return interval(*args)  # type: ignore[arg-type]
    except TooFewSamples:
        return None


def ends(found: Interval) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


# ---- laws


@given(series, quantiles, levels)
def test_it_contains_its_estimate_and_lies_within_the_values(x, quantile, level):
    found = answer(x, quantile, level)
    if found:
        assert x.min() <= found.low <= found.estimate <= found.high <= x.max()
        assert 0 < found.effective_n <= found.n == len(x)


@given(processes, st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_over_processes_it_contains_its_estimate(x, level):
    found = interval(x, level=level)
    assert found.low <= found.estimate <= found.high
    assert (found.processes, found.n) == (len(x), sum(map(len, x)))


@given(series, levels)
def test_mirrored_values_give_exactly_the_mirrored_interval(x, level):
    found, mirrored = answer(x, 0.5, level), answer(-x, 0.5, level)
    assert (found is None) == (mirrored is None)
    if found and mirrored:
        assert ends(mirrored) == (-found.estimate, -found.high, -found.low)


@given(processes)
def test_mirrored_processes_give_exactly_the_mirrored_interval(x):
    found, mirrored = interval(x), interval([-values for values in x])
    assert ends(mirrored) == (-found.estimate, -found.high, -found.low)


@given(series, quantiles, st.integers(-20, 20), st.integers(-1000, 1000))
def test_shift_and_scale_carry_over(x, quantile, exponent, shift):
    x = np.round(x)
    found, moved = (
        answer(x, quantile),
        answer(x * 2.0**exponent + shift * 2.0**exponent, quantile),
    )
    assert (found is None) == (moved is None)
    if found and moved:
        expected = [(end + shift) * 2.0**exponent for end in ends(found)]
        assert ends(moved) == pytest.approx(
            expected, rel=1e-12, abs=1e-9 * 2.0**exponent
        )


@given(processes, st.randoms())
def test_the_order_of_processes_does_not_matter(x, random):
    assert interval(random.sample(x, len(x))) == interval(x)


@given(
    st.lists(numbers.map(abs).map(lambda x: x + 1), min_size=3, max_size=5),
    st.integers(-300, 300),
)
def test_scale_carries_over_to_few_processes(levels, exponent):
    x = [np.array([level]) for level in levels]
    expected = [end * 2.0**exponent for end in ends(interval(x))]
    assert ends(interval([values * 2.0**exponent for values in x])) == pytest.approx(
        expected, rel=1e-9
    )


def test_a_higher_level_is_wider_and_more_values_are_narrower():
    x = np.random.default_rng(0).lognormal(0, 0.3, 400)
    widths = [
        interval(x, level=level).half_width for level in (0.5, 0.8, 0.95, 0.99, 0.999)
    ]
    assert widths == sorted(widths)
    assert (
        interval(x).half_width
        < interval(x[:100]).half_width
        < interval(x[:20]).half_width
    )


# ---- what is done is what is said


def test_it_is_nyblom_between_exact_ranks():
    """Exact order statistics with a coverage below and above 95 % enclose the interpolated ends."""
    x = np.sort(np.random.default_rng(1).permutation(np.arange(25.0) ** 2))
    shuffled = np.random.default_rng(5).permutation(x)
    found = interval(shuffled)
    assert (
        found.method == "binomial ranks, Nyblom-interpolated"
        and found.effective_n == 25
    )
    rank = int(stats.binom.ppf(0.025, 25, 0.5))  # P(B < rank) <= 0.025 < P(B <= rank)
    assert x[rank - 1] < found.low < x[rank] and x[-rank - 1] < found.high < x[-rank]


def test_dependence_widens_and_is_said():
    random = np.random.default_rng(2)
    x = simulation.lognormal(random, 400, 0.9)
    found, shuffled = interval(x), interval(random.permutation(x))
    assert found.effective_n < 100 and found.method.endswith("effective n")
    assert any("dependent: the 400 values count as" in note for note in found.notes)
    assert found.half_width > 2 * shuffled.half_width


@pytest.mark.parametrize(
    ("count", "level", "method"),
    [
        (3, 0.95, "t on log process medians"),
        (5, 0.95, "t on log process medians"),
        (6, 0.95, "binomial ranks of process medians, Nyblom-interpolated"),
        (6, 0.99, "t on log process medians"),
        (8, 0.99, "binomial ranks of process medians, Nyblom-interpolated"),
    ],
)
def test_processes_are_the_unit(count, level, method):
    x = [np.array([k + 1.0, k + 2.0, k + 3.0]) for k in range(count)]
    found = interval(x, level=level)
    assert (found.method, found.effective_n, found.processes, found.n) == (
        method,
        count,
        count,
        3 * count,
    )


def test_few_processes_are_the_textbook_t_interval():
    medians = np.array([1.0, 1.2, 1.1, 1.4])
    low, high = stats.t.interval(
        0.95, 3, np.log(medians).mean(), stats.sem(np.log(medians))
    )
    found = interval([np.array([m, m, 2 * m]) for m in medians])
    expected = [np.exp(np.log(medians).mean()), math.exp(low), math.exp(high)]
    assert ends(found) == pytest.approx(expected, rel=1e-9)
    # values of both signs have no logs
    raw = interval([np.array([m - 1.2]) for m in medians])
    low, high = stats.t.interval(0.95, 3, medians.mean() - 1.2, stats.sem(medians))
    assert raw.method == "t on process medians"
    assert ends(raw) == pytest.approx([medians.mean() - 1.2, low, high], abs=1e-9)


def test_one_array_in_a_list_is_one_process():
    x = np.random.default_rng(3).lognormal(0, 0.3, 50)
    nested, flat = interval([x]), interval(x)
    assert nested.notes == (
        "one process, between-process variance unknown",
        *flat.notes,
    )
    assert (
        ends(nested)
        == ends(flat)
        == ends(interval(x.tolist()))
        == ends(interval(tuple(x)))
    )


def test_quantiles_over_processes_need_values_in_each():
    random = np.random.default_rng(4)
    found = interval([random.lognormal(0, 0.3, 30) for _ in range(8)], 0.9)
    assert found.method == "binomial ranks of process p90, Nyblom-interpolated"
    with pytest.raises(
        TooFewSamples, match="p90 was asked of a process of 29 values; at least 30"
    ):
        interval([random.lognormal(0, 0.3, 29) for _ in range(8)], 0.9)
    with pytest.raises(TooFewSamples, match="at least 300"):
        interval([random.lognormal(0, 0.3, 299) for _ in range(8)], 0.99)


def test_equal_values_give_a_point():
    found = interval(np.full(20, 7.0))
    assert (
        ends(found) == (7, 7, 7)
        and found.method == "all values equal"
        and found.half_width == 0
    )


def test_half_width_is_relative_and_blind_to_sign():
    x = np.random.default_rng(5).lognormal(0, 0.3, 60)
    found = interval(x)
    assert found.half_width == pytest.approx(math.sqrt(found.high / found.low) - 1)
    assert interval(-x).half_width == pytest.approx(found.half_width)
    assert interval(x - np.median(x)).half_width == math.inf


# ---- refusals


@pytest.mark.parametrize(
    ("quantile", "level", "fewest"),
    [
        (0.5, 0.95, 6),
        (0.5, 0.99, 8),
        (0.9, 0.95, 29),
        (0.1, 0.9, 22),
        (0.95, 0.99, 90),
        (0.99, 0.95, 299),
    ],
)
def test_it_refuses_what_cannot_be_known(quantile, level, fewest):
    assert smallest_sample(quantile, level) == fewest
    x = np.random.default_rng(6).permutation(np.arange(fewest) + 1.0)
    assert interval(x, quantile, level).n == fewest
    with pytest.raises(
        TooFewSamples,
        match=f"asked of {fewest - 1} values; at least {fewest} are needed",
    ):
        interval(x[1:], quantile, level)


def test_hopelessly_dependent_values_are_refused_with_a_number():
    with pytest.raises(
        TooFewSamples, match=r"so dependent that they count as \d.*about \d+ are needed"
    ):
        interval(np.arange(40.0))


def test_two_processes_are_refused():
    with pytest.raises(TooFewSamples, match="at least 3"):
        interval([np.ones(9), np.ones(9)])
    with pytest.raises(TooFewSamples, match="at least 3"):
        bootstrap([np.ones(9), np.ones(9)])


@pytest.mark.parametrize(
    "bad",
    [[], [[]], np.zeros((3, 4)), [1, [2, 3]], [[1, 2], 3, 4], ["a", "b"], "abc", [1.0, math.nan], [math.inf],
     [[1.0], [math.nan], [2.0]], 5, None, {}, [None], [[1, [2]], [3], [4]], [True, False]],
)  # fmt: skip
def test_bad_samples_are_one_clear_line(bad):
    for ask in (interval, mean_interval, bootstrap):
        with pytest.raises(Deep500Error) as error:
            ask(bad)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("bad", [0, 1, -0.5, 95, math.nan, "x", None, [0.5]])
def test_quantile_and_level_are_shares(bad):
    with pytest.raises(Deep500Error, match="between 0 and 1"):
        interval(np.arange(50.0), quantile=bad)
    with pytest.raises(Deep500Error, match="between 0 and 1"):
        interval(np.arange(50.0), level=bad)


@given(shares, shares)
def test_any_quantile_and_level_is_answered_or_refused(quantile, level):
    x = np.random.default_rng(7).lognormal(0, 1, 60)
    found = answer(x, quantile, level)
    assert found is None or found.low <= found.estimate <= found.high


# ---- means and the bootstrap


def test_the_mean_has_the_textbook_interval_and_says_what_speaks_against_it():
    normal = np.random.default_rng(8).normal(10, 1, 50)
    found = mean_interval(normal)
    low, high = stats.t.interval(0.95, 49, normal.mean(), stats.sem(normal))
    assert ends(found) == pytest.approx((normal.mean(), low, high), rel=1e-9)
    assert found.method == "t" and found.notes[0] == "n = 50" and found.quantile is None
    assert [note.split()[0] for note in found.notes[1:]] == [
        "Shapiro-Wilk",
        "Q-Q",
        "lag-1",
    ]
    skewed = mean_interval(np.random.default_rng(8).lognormal(0, 1, 50))
    assert any("not normal" in note for note in skewed.notes)
    dependent = mean_interval(
        simulation.regimes.autoregressive(np.random.default_rng(8), 100, 0.9)
    )
    assert any("depend" in note for note in dependent.notes)
    assert any("equal" in note for note in mean_interval([2.0, 2, 2]).notes)


def test_means_of_pooled_processes_are_refused():
    with pytest.raises(Refused, match="one mean per process"):
        mean_interval([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]])
    with pytest.raises(TooFewSamples):
        mean_interval([1.0, 2.0])


def test_the_bootstrap_resamples_processes():
    random = np.random.default_rng(9)
    x = simulation.processes(random, 12, 2)
    found, pooled = bootstrap(x), bootstrap(np.concatenate(x))
    assert found == bootstrap(x) != bootstrap(x, seed=1)
    assert found.low < found.estimate < found.high and found.processes == 12
    assert found.high - found.low > 2 * (pooled.high - pooled.low)
    reference = interval(x)
    assert 0.5 < (found.high - found.low) / (reference.high - reference.low) < 1.5


def test_the_bootstrap_takes_any_statistic_and_any_sizes():
    random = np.random.default_rng(10)
    x = [random.lognormal(0, 0.3, size) for size in (10, 20, 30)]
    assert bootstrap(x, resamples=200).n == 60
    spread = bootstrap(
        x,
        statistic=lambda values: np.ptp(np.quantile(values, [0.25, 0.75])),
        resamples=200,
    )
    assert 0 < spread.low < spread.high and any(
        "too narrow" in note for note in spread.notes
    )
    slow = bootstrap(
        x[:1] * 4, statistic=lambda values: np.median(values), resamples=2000
    )
    fast = bootstrap(x[:1] * 4, resamples=2000)
    assert ends(slow) == pytest.approx(ends(fast), rel=0.1)
    with pytest.raises(Deep500Error):
        bootstrap(x, resamples=0)


# ---- coverage


def quick_cases():
    wanted = ("n = 10", "n = 100", "rho 0.6, n = 100", "rho 0.9, n = 100", "p90, n = 100",
              "4, between/within 1", "8, between/within 2")  # fmt: skip
    cases = [*simulation.series_cases(), *simulation.process_cases()]
    return [case for case in cases if case.name in wanted]


@pytest.mark.parametrize(
    "case", quick_cases(), ids=lambda case: f"{case.group}: {case.name}"
)
def test_intervals_hold_the_truth(case):
    row = simulation.coverage(case, 300, np.random.default_rng(11))
    assert row.high >= 93.5 and row.percent >= 91 and row.details["width"] <= 1.7, (
        rows.line(row)
    )


@pytest.mark.parametrize(
    "case", list(simulation.practice_cases()), ids=lambda case: case.name
)
def test_common_practice_fails_the_same_simulation(case):
    row = simulation.coverage(case, 300, np.random.default_rng(11))
    assert row.high < 91, rows.line(row)


@pytest.mark.parametrize("rho", [0, 0.6])
def test_stopping_when_narrow_keeps_the_coverage(rho):
    row = simulation.adaptive(rho, 0.1, 0.05, 200, np.random.default_rng(12))
    assert row.high >= 93.5 and row.percent >= 90 and row.details["n/oracle"] <= 2.5, (
        rows.line(row)
    )


@pytest.mark.slow
def test_the_whole_table():
    table = list(rows.computed(simulation.table(2000, seed=1), jobs=1))
    assert len(table) > 90
    lines = [rows.line(row, simulation.DOCUMENTED) for row in table]
    missed = [line for line in lines if line.startswith("MISS")]
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize("true", [1.4, 20.3, 100.3])
def test_a_coarse_clock_is_warned_of(true):
    rng = np.random.default_rng(1)
    ticks = np.round(true * rng.lognormal(0, 0.002, 300) + rng.random(300) - 0.5)
    ticks = np.maximum(ticks, 1)
    assert any("coarse clock" in note for note in interval(ticks).notes)
    # the same times by a clock that is a thousand times finer
    fine = true * rng.lognormal(0, 0.002, 300)
    assert not any("coarse clock" in note for note in interval(fine).notes)


def test_many_ticks_are_no_coarse_clock():
    rng = np.random.default_rng(1)
    ticks = np.round(500 * rng.lognormal(0, 0.3, 1000))
    assert not any("coarse clock" in note for note in interval(ticks).notes)
