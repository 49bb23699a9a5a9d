"""From blocks to an outcome: what is said of runs that end well, never arrive, or diverge."""

import pytest

from deep500.errors import Deep500Error
from deep500.training.outcome import check_blocks, check_plan, outcome

PLAN = {
    "level": 0.95,
    "recipe": {
        "metrics": [
            [{"definition": "TestAccuracy", "settings": {}}, 90.0],
            [{"definition": "TimeToAccuracy", "settings": {"target": 90.0}}, None],
            [{"definition": "FinalLoss", "settings": {}}, None],
        ]
    },
}


def run(seed, accuracy, losses=(2.0, 1.0)):
    record = {"epoch": 1, "step": 2, "seconds": 0.5, "validation": accuracy, "test": None}
    return [
        {
            "seed": seed,
            "losses": list(losses),
            "step_seconds": [0.2, 0.3],
            "samples": 128,
            "evaluation": record,
            "checkpoint": "x",
        },
        {"seed": seed, "test": accuracy, "build_seconds": 0.1, "weights": "y"},
    ]


def blocks_of(*accuracies, **more):
    return [
        block for seed, accuracy in enumerate(accuracies) for block in run(seed, accuracy, **more)
    ]


def test_a_target_is_met_or_not():
    good, bad = (
        outcome(PLAN, blocks_of(95.0, 96.0, 97.0)),
        outcome(PLAN, blocks_of(85.0, 86.0, 87.0)),
    )
    assert good["acceptable"] and not bad["acceptable"]
    accuracy = good["metrics"][0]
    assert accuracy["low"] <= accuracy["median"] <= accuracy["high"] and accuracy["n"] == 3
    assert accuracy["sure"] == (accuracy["low"] >= 90)


def test_a_target_that_the_interval_does_not_clear_is_not_sure():
    found = outcome(PLAN, blocks_of(85.0, 92.0, 97.0))["metrics"][0]
    assert found["acceptable"] and not found["sure"]


def test_seeds_that_never_arrive_count_as_the_worst():
    time = outcome(PLAN, blocks_of(95.0, 85.0, 85.0))["metrics"][1]
    assert time["values"] == [0.5, None, None] and time["median"] is None and time["low"] is None
    assert "2 of 3 seeds" in time["notes"][0]
    assert time["acceptable"]  # it has no target


def test_a_run_that_diverges_has_no_loss_and_does_not_break_the_rest():
    found = outcome(PLAN, check_blocks(blocks_of(10.0, 11.0, 12.0, losses=(2.0, None))))
    assert found["metrics"][2]["values"] == [None] * 3
    assert not found["acceptable"]


def test_few_seeds_have_no_interval_and_say_why():
    one = outcome(PLAN, blocks_of(95.0))["metrics"][0]
    assert one["low"] is None and "no interval" in one["notes"][0] and one["median"] == 95.0
    assert outcome(PLAN, blocks_of(94.0, 96.0))["metrics"][0]["median"] == 95.0


def test_an_unfinished_seed_is_left_out():
    assert outcome(PLAN, blocks_of(95.0, 95.0, 95.0) + run(3, 10.0)[:1])["seeds"] == [0, 1, 2]
    with pytest.raises(Deep500Error, match="nothing to report"):
        outcome(PLAN, run(0, 95.0)[:1])


@pytest.mark.parametrize(
    "change",
    [
        {"losses": ["x", 1]},
        {"losses": [1.0]},
        {"seed": -1},
        {"seed": True},
        {"evaluation": []},
        {"evaluation": {"epoch": 1, "step": 2.5, "seconds": 0.5, "validation": 1.0}},
        {"step_seconds": [1e308, 1e308]},
        {"samples": None},
    ],
)
def test_malformed_blocks_are_refused(change):
    with pytest.raises(Deep500Error, match="block 0"):
        check_blocks([run(0, 95.0)[0] | change])


@pytest.mark.parametrize(
    "metrics",
    [
        1,
        [1],
        [[{"definition": "os.system", "settings": {}}, 1]],
        [[{}, 1]],
        [[{"definition": "TestAccuracy", "settings": {"x": 1}}, 1]],
    ],
)
def test_malformed_plans_are_refused(metrics):
    for plan in (
        {"recipe": {"metrics": metrics}, "level": 0.95},
        {"recipe": {"metrics": []}, "level": 2.0},
        {},
        None,
    ):
        with pytest.raises(Deep500Error):
            check_plan(plan)
