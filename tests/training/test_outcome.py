"""From blocks to an outcome: what is said of runs that end well, never arrive, or diverge."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500 import bundle
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error
from deep500.rerun import recipe_files, recipe_runner
from deep500.training.outcome import histories
from deep500.training.outcome import outcome as outcome_of
from deep500.training.recipe_numbers import RecipeNumbers
from tests.training.recipe_documents import (
    checked_blocks,
    checked_plan,
    plan_document,
)

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"

PLAN = plan_document(
    {
        "metrics": [
            [{"definition": "TestAccuracy", "settings": {}}, 90.0],
            [{"definition": "TimeToAccuracy", "settings": {"target": 90.0}}, None],
            [{"definition": "FinalLoss", "settings": {}}, None],
        ]
    }
)


def outcome(plan: object, blocks: Sequence[object]) -> RecipeNumbers:
    """The outcome of what a bundle holds."""
    return outcome_of(checked_plan(plan), checked_blocks(blocks))


def run(seed, accuracy, losses=(2.0, 1.0)):
    qualities = {"accuracy": accuracy}
    return [
        {
            "seed": seed,
            "series": {"loss": list(losses), "seconds": [0.2, 0.3], "rate": [0.1]},
            "counters": {"samples": 128},
            "evaluation": {
                "epoch": 1,
                "step": 2,
                "seconds": 0.5,
                "validation": qualities,
            },
            "checkpoint": "x",
        },
        {"seed": seed, "test": qualities, "build_seconds": 0.1, "weights": "y"},
    ]


def old_run(seed, accuracy, losses=(2.0, 1.0)):
    """The same blocks as version 0.1.0 wrote them."""
    record = {
        "epoch": 1,
        "step": 2,
        "seconds": 0.5,
        "validation": accuracy,
        "test": None,
    }
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
        block
        for seed, accuracy in enumerate(accuracies)
        for block in run(seed, accuracy, **more)
    ]


def test_a_target_is_met_or_not():
    good, bad = (
        outcome(PLAN, blocks_of(95.0, 96.0, 97.0)),
        outcome(PLAN, blocks_of(85.0, 86.0, 87.0)),
    )
    assert good.acceptable and not bad.acceptable
    accuracy = good.metrics[0]
    assert accuracy.low <= accuracy.median <= accuracy.high and accuracy.n == 3
    assert accuracy.sure == (accuracy.low >= 90)


def test_a_target_that_the_interval_does_not_clear_is_not_sure():
    found = outcome(PLAN, blocks_of(85.0, 92.0, 97.0)).metrics[0]
    assert found.acceptable and not found.sure


def test_seeds_that_never_arrive_count_as_the_worst():
    time = outcome(PLAN, blocks_of(95.0, 85.0, 85.0)).metrics[1]
    assert time.values == [0.5, None, None] and time.median is None and time.low is None
    assert "2 of 3 seeds" in time.notes[0]
    assert time.acceptable  # it has no target


def test_seeds_that_never_arrive_are_censored():
    """Five of eight arrive at 0.5 s, in the first epoch: the median is theirs, and the interval has no upper end."""
    blocks = blocks_of(95.0, 85.0, 95.0, 85.0, 95.0, 95.0, 95.0, 85.0)
    time = outcome(PLAN, blocks).metrics[1]
    assert time.median == 0.5 and time.low == 0.0 and time.high is None
    assert "Kaplan-Meier" in time.method and "3 of 8 seeds" in time.notes[0]
    assert time.sure  # it has no target


def test_a_target_on_a_censored_time_is_met_by_the_median_and_never_sure_without_an_upper_end():
    metrics = [[PLAN["recipe"]["metrics"][1][0], 1.0]]
    plan = plan_document({"metrics": metrics})
    [time] = outcome(plan, blocks_of(95.0, 95.0, 95.0, 95.0, 85.0)).metrics
    assert "Kaplan-Meier" in time.method
    assert time.acceptable and not time.sure
    [time] = outcome(plan, blocks_of(95.0, 85.0, 85.0, 85.0)).metrics
    assert time.median is None and not time.acceptable


def test_below_five_seeds_kaplan_meier_is_refused():
    blocks = blocks_of(95.0, 95.0, 95.0, 85.0)
    time = outcome(PLAN, blocks).metrics[1]
    assert time.low is None and time.method == "none" and time.median == 0.5
    assert "at least 5 are needed" in time.notes[-1]


def test_what_a_run_could_not_measure_is_unavailable_with_the_reason():
    metrics = [[{"definition": "Energy", "settings": {}}, 100.0]]
    unavailable = {"energy": "no RAPL driver"}
    plan = plan_document({"metrics": metrics}, unavailable=unavailable)
    [energy] = outcome(plan, blocks_of(95.0, 95.0)).metrics
    assert energy.unavailable == "no RAPL driver" and not energy.acceptable
    assert energy.notes == ["unavailable: no RAPL driver"]
    with pytest.raises(Deep500Error, match="/unavailable/energy is 3, but a text"):
        checked_plan(plan | {"unavailable": {"energy": 3}})


def test_a_run_that_diverges_has_no_loss_and_does_not_break_the_rest():
    found = outcome(PLAN, blocks_of(10.0, 11.0, 12.0, losses=(2.0, None)))
    assert found.metrics[2].values == [None] * 3
    assert not found.acceptable


def test_a_value_beyond_all_measure_counts_as_diverged():
    found = outcome(PLAN, blocks_of(95.0, 96.0, 1e200)).metrics[0]
    assert found.values == [95.0, 96.0, None] and "1 of 3 seeds" in found.notes[0]


def test_few_seeds_have_no_interval_and_say_why():
    one = outcome(PLAN, blocks_of(95.0)).metrics[0]
    assert one.low is None and "no interval" in one.notes[0] and one.median == 95.0
    assert outcome(PLAN, blocks_of(94.0, 96.0)).metrics[0].median == 95.0


def test_an_unfinished_seed_is_left_out():
    assert outcome(PLAN, blocks_of(95.0, 95.0, 95.0) + run(3, 10.0)[:1]).seeds == [
        0,
        1,
        2,
    ]
    with pytest.raises(Deep500Error, match="nothing to report"):
        outcome(PLAN, run(0, 95.0)[:1])


def test_blocks_of_version_0_1_0_give_the_same_numbers():
    accuracies = (85.0, 92.0, 97.0)
    old = [
        block for seed, value in enumerate(accuracies) for block in old_run(seed, value)
    ]
    assert outcome(PLAN, old) == outcome(PLAN, blocks_of(*accuracies))


def test_a_bundle_of_version_0_1_0_verifies_with_the_same_numbers():
    checked = verify(BEFORE)
    assert checked.ok and checked.finished, checked.problems
    old = bundle.read(BEFORE)
    plan, blocks = old.documents["plan.json"], old.blocks
    derived_before: Any = old.documents["derived.json"]
    recorded = derived_before["metrics"]
    for metric, before in zip(outcome(plan, blocks).metrics, recorded, strict=True):
        assert metric.values == before["values"]


def test_the_losses_of_version_0_1_0_are_reproduced(tmp_path, monkeypatch):
    """As far as processors agree: another one adds up in another order, which shows in the seventh digit."""
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    again = recipe_runner.run(
        recipe_files.load_recipe("digits_mlp"), tmp_path / "run", tier="tiny", seeds=2
    )
    before, after = (
        histories(checked_blocks(bundle.read(p).blocks)) for p in (BEFORE, again.bundle)
    )
    for old, new in zip(before, after, strict=True):
        assert (
            new.losses == pytest.approx(old.losses, rel=2e-5) and len(old.losses) == 34
        )
        assert new.losses != pytest.approx(
            [1.0001 * loss for loss in old.losses], rel=2e-5
        )
        for key in ("validation", "test"):
            assert [e[key] for e in old.evaluations] == [
                e[key] for e in new.evaluations
            ]


def test_everything_of_a_block_is_in_the_history():
    [history] = histories(checked_blocks(run(3, 95.0, losses=(2.0, None))))
    assert history.losses[0] == 2.0 and math.isnan(history.losses[1])
    assert history.series["rate"] == [0.1] and history.counters == {"samples": 128}
    assert history.evaluations[0]["test"] == {"accuracy": 95.0} and history.seed == 3


QUALITY = {"name": "error", "unit": "m", "better": "lower"}
REGRESSION = plan_document(
    {"metrics": [[{"definition": "FinalQuality", "settings": {"name": "error"}}, 0.5]]},
    task={"name": "Regression", "qualities": [QUALITY]},
)


def test_a_quality_of_any_task_has_its_unit_and_direction():
    blocks = blocks_of(0.4, 0.45, 0.3)
    for block in blocks:
        qualities = (
            block["test"] if "test" in block else block["evaluation"]["validation"]
        )
        qualities["error"] = qualities["accuracy"]
    [error] = outcome(REGRESSION, blocks).metrics
    assert (error.name, error.unit, error.better) == (
        "FinalQuality",
        "m",
        "lower",
    )
    assert error.acceptable and error.values == [0.4, 0.45, 0.3]


RECORDED = {"key": "Mine", "unit": "m", "kind": "cost", "better": "lower"}


def test_a_recorded_metric_is_read_and_never_looked_up():
    metric = {"definition": "os.system", "settings": {"a": 1}, "recorded": RECORDED}
    plan = plan_document({"metrics": [[metric, 2.0]]})
    blocks = blocks_of(1.0, 2.0, 3.0)
    for value, block in enumerate(blocks[1::2]):
        block["recorded"] = {"Mine": value}
    [found] = outcome(plan, blocks).metrics
    assert found.values == [0, 1, 2] and found.unit == "m" and found.acceptable
    assert found.name == "os.system" and found.settings == {"a": 1}
    assert "recorded while it was run, not derived" in found.notes[0]


EVALUATION = {"epoch": 1, "step": 2, "seconds": 0.5, "validation": {"accuracy": 1.0}}


@pytest.mark.parametrize(
    "change",
    [
        {"series": {"loss": ["x", 1], "seconds": [0.1, 0.1]}},
        {"series": {"loss": [1.0], "seconds": [0.1, 0.1]}},
        {"series": {"loss": [1.0], "seconds": [None]}},
        {"series": {"loss": [1e308, 1.0], "seconds": [0.1, 0.1]}},
        {"series": {"loss": [1.0, 1.0]}},
        {"series": []},
        {"seed": -1},
        {"seed": True},
        {"evaluation": []},
        {"evaluation": EVALUATION | {"step": 2.5}},
        {"evaluation": EVALUATION | {"validation": {}}},
        {"evaluation": EVALUATION | {"validation": {"accuracy": "good"}}},
        {"counters": None},
        {"counters": {"samples": None}},
    ],
)
def test_malformed_blocks_are_refused(change):
    checked_blocks([run(0, 95.0)[0]])
    with pytest.raises(Deep500Error, match="block 0"):
        checked_blocks([run(0, 95.0)[0] | change])


@pytest.mark.parametrize(
    "change",
    [
        {"losses": ["x", 1]},
        {"losses": [1.0]},
        {"evaluation": {"epoch": 1, "step": 2.5, "seconds": 0.5, "validation": 1.0}},
        {"step_seconds": [1e308, 1e308]},
        {"step_seconds": [None, 0.1]},
        {"samples": None},
    ],
)
def test_malformed_old_blocks_are_refused(change):
    checked_blocks([old_run(0, 95.0)[0]])
    with pytest.raises(Deep500Error, match="block 0"):
        checked_blocks([old_run(0, 95.0)[0] | change])


@pytest.mark.parametrize(
    "change", [{"test": None}, {"test": {}}, {"recorded": []}, {"recorded": {"a": "b"}}]
)
def test_a_malformed_end_is_refused(change):
    checked_blocks([run(0, 95.0)[1]])
    with pytest.raises(Deep500Error, match="block 0"):
        checked_blocks([run(0, 95.0)[1] | change])


@pytest.mark.parametrize(
    "task",
    [
        3,
        {},
        {"name": "Mine"},
        {"name": "Mine", "qualities": []},
        {"name": "Mine", "qualities": [QUALITY | {"better": "most"}]},
        {"name": "Mine", "qualities": [QUALITY | {"name": 1}]},
        {"name": 3, "qualities": [QUALITY]},
    ],
)
def test_a_malformed_task_is_refused(task):
    with pytest.raises(Deep500Error, match="plan.json: /task"):
        checked_plan(REGRESSION | {"task": task})


@pytest.mark.parametrize(
    "change",
    [
        {"key": 3},
        {"better": "most"},
        {"kind": "odd"},
        {"colour": 1},
        {"unit": None},
    ],
)
def test_a_malformed_recorded_metric_is_refused(change):
    metric = {"definition": "Mine", "settings": {}, "recorded": RECORDED | change}
    with pytest.raises(Deep500Error, match="plan.json: the metric"):
        checked_plan(plan_document({"metrics": [[metric, None]]}))


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
    good = plan_document({})
    checked_plan(good)
    for plan in (
        plan_document({"metrics": metrics}),
        plan_document({}, level=2.0),
        plan_document(None),
        {},
        None,
    ):
        with pytest.raises(Deep500Error):
            checked_plan(plan)


GOAL = plan_document(
    {
        "metrics": [
            [{"definition": "TestAccuracy", "settings": {}}, None],
            [{"definition": "TimeToAccuracy", "settings": {"target": 90.0}}, None],
            [{"definition": "Throughput", "settings": {}}, None],
        ]
    }
)


def long_run(seed, accuracies, ended="", diverged=False, epoch=1.0):
    """One epoch a second, with an accuracy after each."""
    blocks = []
    for place, accuracy in enumerate(accuracies, 1):
        last = place == len(accuracies)
        loss = None if diverged and last else 1.0
        evaluation = {"epoch": place, "step": place, "seconds": epoch * place}
        blocks.append(
            {
                "seed": seed,
                "series": {"loss": [loss], "seconds": [epoch]},
                "counters": {"samples": 10 * place},
                "evaluation": evaluation | {"validation": {"accuracy": accuracy}},
                "checkpoint": "x",
            }
        )
    end = {"seed": seed, "test": {"accuracy": accuracies[-1]}, "build_seconds": 0.1}
    end |= {"weights": "y"} | ({"ended": ended} if ended else {})
    return [*blocks, end]


def derived(runs):
    return outcome(GOAL, [block for run in runs for block in run])


@pytest.mark.parametrize("n", [6, 10, 20])
@pytest.mark.parametrize("how", [{"ended": "it is bad"}, {"diverged": True}])
def test_seeds_that_failed_never_arrive(n, how):
    """Two thirds of the seeds fail after a second, the others arrive in the tenth: "never" is the median."""
    good = [50.0] * 9 + [95.0]
    failing = 2 * n // 3
    runs = [long_run(seed, [50.0], **how) for seed in range(failing)]
    runs += [long_run(seed, good) for seed in range(failing, n)]
    found = derived(runs)
    time = found.metrics[1]
    assert time.median is None and time.high is None
    assert f"{failing} of {n} seeds never reached it" in time.notes[0]
    fate = "diverged" if "diverged" in how else "stopped before the planned end"
    assert f"({failing} {fate})" in time.notes[0]
    assert [entry.seed for entry in found.failed] == [*range(failing)]


def test_seeds_that_came_to_their_planned_end_are_censored():
    runs = [long_run(seed, [50.0, 95.0]) for seed in range(5)]
    runs += [long_run(seed, [50.0, 60.0]) for seed in range(5, 8)]
    found = derived(runs)
    assert found.metrics[1].median == 2.0 and found.failed == []
    assert "3 trained to the planned end" in found.metrics[1].notes[0]


def test_a_seed_that_diverged_is_missing_and_not_at_zero():
    runs = [long_run(seed, [50.0, 95.0 + seed / 10]) for seed in range(6)]
    runs.append(long_run(6, [50.0, 0.0], diverged=True))
    accuracy, _, throughput = derived(runs).metrics
    assert accuracy.values[-1] is None and throughput.values[-1] is None
    assert (
        accuracy.median == 95.2
    )  # the fourth of seven, with the lost one as the worst
    assert accuracy.low is None and accuracy.high < 95.5
    assert accuracy.notes == ["1 of 7 seeds have no value (1 diverged)"]
    few = derived(runs[3:]).metrics[0]
    assert few.low is None and few.high is None and few.median == 95.35
    assert "at least 6 are needed" in few.notes[-1]


def test_a_goal_that_was_reached_before_the_run_diverged_was_reached():
    runs = [long_run(seed, [95.0, 0.0], diverged=True) for seed in range(3)]
    accuracy, time, _ = derived(runs).metrics
    assert accuracy.values == [None] * 3 and time.values == [1.0] * 3


@pytest.mark.parametrize("n", [3, 5, 6, 12])
def test_a_time_to_accuracy_is_no_finer_than_its_looks(n):
    """All seeds are seen to arrive at 3 s: they arrived between 2 and 3 s."""
    runs = [long_run(seed, [50.0, 60.0, 95.0, 96.0]) for seed in range(n)]
    time = derived(runs).metrics[1]
    assert (time.median, time.low, time.high) == (3.0, 2.0, 3.0)
    assert time.not_before == [2.0] * n


def test_the_interval_of_a_time_holds_wherever_between_two_looks_the_goal_is_reached():
    """True times just before or just after a look, with hardly any spread: the worst places for a grid."""
    rng = np.random.default_rng(2)
    for truth in (2.02, 2.5, 2.98, 3.0):
        for n in (3, 5, 6, 10):
            held = 0
            for _ in range(50):
                true_times = truth * np.exp(rng.normal(0, 0.003, n))
                looks = np.ceil(true_times).astype(int)
                runs = [
                    long_run(seed, [50.0] * (look - 1) + [95.0])
                    for seed, look in enumerate(looks)
                ]
                time = derived(runs).metrics[1]
                held += time.low <= truth <= time.high
            assert held >= 45


def test_the_verdict_follows_the_true_median():
    """97.5, 99.17 and 84.17 %: the median is 97.5, their geometric mean 93.4, and the target 95."""
    plan = plan_document({"metrics": [[PLAN["recipe"]["metrics"][0][0], 95.0]]})
    blocks = blocks_of(97.5, 99.17, 84.17)
    found = outcome(plan, blocks)
    assert found.acceptable and found.metrics[0].median == 97.5
    assert found.metrics[0].high <= 100
