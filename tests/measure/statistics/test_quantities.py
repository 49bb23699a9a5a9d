"""Rules 3 and 4: each kind of quantity has one mean, and what has none is refused."""

import copy
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500.errors import Deep500Error, Refused
from deep500.measure.statistics.quantities import KINDS, Summary, summarize

positive = st.floats(1e-6, 1e6)
rates_and_work = st.lists(st.tuples(positive, positive), min_size=1, max_size=30)


def test_the_golden_example_of_the_paper() -> None:
    """100 Gflop in 10, 100 and 40 s: 300 Gflop in 150 s, 2.0 Gflop/s."""
    rates = [10.0, 1.0, 2.5]
    assert summarize(rates) == 2.0
    assert summarize(rates, kind="rate").how == "harmonic mean of 3 rates of equal work"
    assert summarize([10.0, 100.0, 40.0], kind="cost") == 50.0
    assert np.mean(rates) == 4.5  # the wrong number, which must not come out
    with pytest.raises(Refused, match="work="):
        summarize(rates, mean="arithmetic")


def test_unequal_work_is_total_work_over_total_time() -> None:
    found = summarize([10.0, 1.0], kind="rate", work=[100.0, 1.0])
    assert found == pytest.approx(101 / 11)
    assert found.how == "total work / total time of 2 rates"
    assert found.interval is None and "unequal work" in found.note
    assert found != pytest.approx(float(summarize([10.0, 1.0])))


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("cost", "arithmetic mean of 3 costs"),
        ("count", "arithmetic mean of 3 counts"),
        ("quality", "arithmetic mean of 3 quality values"),
    ],
)
def test_costs_counts_and_qualities_have_an_arithmetic_mean(kind, how) -> None:
    found = summarize([1, 2, 6], kind=kind)
    assert (float(found), found.value, found.kind, found.how, found.n) == (
        3.0,
        3.0,
        kind,
        how,
        3,
    )
    assert summarize([1, 2, 6], kind=kind, mean="arithmetic") == 3.0


def test_a_summary_is_a_float_that_remembers() -> None:
    found = summarize([10, 1, 2.5])
    assert isinstance(found, float) and f"{found:.2f}" == "2.00" and found + 1 == 3.0
    assert repr(found) == "2.0 (harmonic mean of 3 rates of equal work)"
    again = copy.deepcopy(found)
    assert isinstance(again, Summary) and vars(again) == vars(found) and again == found


def test_the_interval_is_of_the_median_or_says_why_not() -> None:
    few = summarize([1.0, 2.0, 3.0], kind="cost")
    assert few.interval is None and few.note.startswith("no interval: ")
    many = summarize([1.0, 5.0, 2.0, 4.0, 3.0, 2.5, 3.5, 1.5, 4.5, 60.0], kind="cost")
    assert many.interval is not None and many.interval.n == 10
    # the outlier carries the mean out of it
    assert many.interval.low <= 3.25 <= many.interval.high < many
    assert "not of their mean" in many.note


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"values": [1.2, 0.9], "kind": "ratio"}, "kind='cost'"),
        ({"values": [1.2, 0.9], "kind": "ratio"}, "compare"),
        ({"values": [1.0, 2.0], "kind": "rate", "mean": "arithmetic"}, "harmonic"),
        ({"values": [1.0, 2.0], "kind": "cost", "mean": "harmonic"}, "for rates"),
        *(
            ({"values": [1.0, 2.0], "kind": kind, "mean": "geometric"}, "Rule 4")
            for kind in KINDS
        ),
    ],
)
def test_what_would_mislead_is_refused(arguments, words) -> None:
    with pytest.raises(Refused, match=words) as error:
        summarize(**arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"values": []}, "at least one number"),
        ({"values": 3.0}, "one row"),
        ({"values": [[1.0], [2.0]]}, "one row"),
        ({"values": ["fast"]}, "must be numbers"),
        ({"values": [1.0, [2.0, 3.0]]}, "must be numbers"),
        ({"values": [1.0, math.nan]}, r"values\[1\] is nan"),
        ({"values": [None, 1.0]}, r"values\[0\] is nan"),
        ({"values": [math.inf]}, "inf"),
        ({"values": [10**400]}, "must be numbers"),
        ({"values": [1e200]}, "up to 1e\\+150"),
        ({"values": [1.0, 0.0]}, "rate of 0"),
        ({"values": [1.0, 1e-300]}, "rate of 1e-300"),
        ({"values": [1.0, -2.0]}, "rate of -2"),
        ({"values": [-1.0], "kind": "cost"}, "cost of -1"),
        ({"values": [-1.0], "kind": "count"}, "count of -1"),
        ({"values": [1.0, 2.0], "work": [1.0]}, "1 counts for 2 rates"),
        ({"values": [1.0, 2.0], "work": [1.0, 0.0]}, "work of 0"),
        ({"values": [1.0, 2.0], "work": [1.0, math.nan]}, r"work\[1\] is nan"),
        (
            {"values": [1.0, 2.0], "kind": "cost", "work": [1.0, 1.0]},
            "only rates have work",
        ),
        (
            {"values": [1.0], "kind": "rat"},
            "Did you mean 'rat(e|io)'.*cost, rate, ratio, count, quality",
        ),
        ({"values": [1.0], "kind": None}, "there is no kind None"),
        ({"values": [1.0], "mean": "harmonik"}, "Did you mean 'harmonic'"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, words) -> None:
    with pytest.raises(Deep500Error, match=words) as error:
        summarize(**arguments)
    assert not isinstance(error.value, Refused) and "\n" not in str(error.value)


@given(rates_and_work)
def test_a_rate_is_total_work_over_total_time(pairs) -> None:
    rates, work = zip(*pairs, strict=True)
    total_time = math.fsum(w / r for r, w in pairs)
    assert summarize(rates, work=work) == pytest.approx(
        math.fsum(work) / total_time, rel=1e-12
    )
    equal = summarize(rates)
    assert equal == pytest.approx(
        len(rates) / math.fsum(1 / r for r in rates), rel=1e-12
    )
    assert equal == pytest.approx(
        float(summarize(rates, work=[7.0] * len(rates))), rel=1e-12
    )


@given(rates_and_work, st.sampled_from(["cost", "rate", "work"]), st.randoms())
def test_a_mean_lies_within_and_forgets_the_order(pairs, kind, random) -> None:
    def mean(pairs) -> float:
        rates, work = zip(*pairs, strict=True)
        return (
            summarize(rates, work=work)
            if kind == "work"
            else summarize(rates, kind=kind)
        )

    rates = [rate for rate, _ in pairs]
    assert min(rates) <= mean(pairs) <= max(rates)
    assert mean(random.sample(pairs, len(pairs))) == mean(pairs)


@given(
    st.lists(positive, min_size=1, max_size=30),
    st.floats(1e-100, 1e100),
    st.sampled_from(["cost", "rate"]),
)
def test_a_mean_scales_with_its_values(values, factor, kind) -> None:
    scaled = summarize([factor * value for value in values], kind=kind)
    assert scaled == pytest.approx(factor * summarize(values, kind=kind), rel=1e-12)


@given(st.lists(st.floats(1e-150, 1e150), min_size=1, max_size=5))
def test_the_harmonic_mean_is_never_above_the_arithmetic(values) -> None:
    """Over all that is taken, so that nothing overflows either."""
    assert 0 < summarize(values) <= summarize(values, kind="cost") * (1 + 1e-12)
