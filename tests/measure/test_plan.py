import itertools
import json

import pytest

from deep500.errors import Deep500Error, Refused
from deep500.measure.candidates import Command, Function
from deep500.measure.plan import make_plan


def some_function():
    return None


def test_rounds_are_random_mirrored_and_reproducible():
    plan = make_plan({"a": "1", "b": "2", "c": "3"}, seed=5)
    rounds = list(itertools.islice(plan.orders(0), 200))
    assert all(r == r[::-1] and sorted(r) == [0, 0, 1, 1, 2, 2] for r in rounds)
    assert {r[0] for r in rounds} == {0, 1, 2}
    assert rounds == list(
        itertools.islice(
            make_plan({"a": "1", "b": "2", "c": "3"}, seed=5).orders(0), 200
        )
    )
    assert rounds != list(itertools.islice(plan.orders(1), 200))


def test_one_candidate_is_visited_once_a_round():
    assert next(make_plan({"a": "1"}).orders(0)) == [0]


def test_factors_multiply_and_comparisons_stay_at_the_same_levels():
    plan = make_plan({"a": "n", "b": "n + 1"}, factors={"n": [1, 10], "m": ["x", "y"]})
    assert len(plan.entries) == 8
    assert plan.entries[0].name == "a n=1 m=x"
    assert plan.pairs == [(0, 1), (2, 3), (4, 5), (6, 7)]


def test_the_control_is_the_first_candidate_again():
    plan = make_plan({"a": "1", "b": "2"}, control=True)
    assert plan.entries[2].name == "a (control)"
    assert plan.entries[2].candidate == plan.entries[0].candidate


def test_a_plan_is_json():
    plan = make_plan({"a": "1"}, factors={"n": [1, 2.5, "x", True]})
    assert json.loads(json.dumps(plan.to_json())) == plan.to_json()


def test_an_importable_callable_can_go_to_fresh_processes_and_a_local_one_cannot():
    assert make_plan({"a": json.dumps}, processes=2).entries[0].candidate == Function(
        "json:dumps"
    )
    with pytest.raises(Refused, match="lives only in this process"):
        make_plan({"a": lambda: None}, processes=2)


def test_unlike_candidates_are_not_compared():
    with pytest.raises(Refused, match="not comparable"):
        make_plan({"a": "1", "b": Command("true")})


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget_s": 0},
        {"budget_s": float("nan")},
        {"level": 1.0},
        {"precision": -1},
        {"margin": -0.1},
        {"processes": 0},
        {"cache": "hot"},
        {"timeout_s": 0},
        {"factors": {"no name": [1]}},
        {"factors": {"n": []}},
        {"factors": {"n": [None]}},
    ],
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(Deep500Error) as error:
        make_plan({"a": "1"}, **wrong)
    assert "\n" not in str(error.value)


def test_nothing_to_measure():
    with pytest.raises(Deep500Error, match="nothing to measure"):
        make_plan({})


def test_misspelt_or_mistyped_settings_are_named():
    with pytest.raises(
        Deep500Error, match="no setting is named 'budget'. Did you mean 'budget_s'"
    ):
        make_plan({"a": "1"}, budget=1)  # type: ignore[call-arg]
    for wrong in ({"seed": "a"}, {"control": "x"}, {"setup": 5}):
        with pytest.raises(Deep500Error, match=next(iter(wrong))):
            make_plan({"a": "1"}, **wrong)


def test_the_name_of_the_control_is_its_own():
    with pytest.raises(Deep500Error, match="the control's"):
        make_plan({"a": "1", "a (control)": "2"}, control=True)
    assert (
        make_plan({"a": "1", "b (control)": "2"}, control=True).entries[2].name
        == "a (control)"
    )
