"""Metrics read a history; here is one whose numbers are known."""

import math
from dataclasses import replace

import pytest

from deep500.contracts.metric import History, Metric
from deep500.contracts.task import Quality
from deep500.errors import Deep500Error
from deep500.metrics.cost import Cost
from deep500.metrics.energy import Energy
from deep500.metrics.final_loss import FinalLoss
from deep500.metrics.final_quality import FinalQuality
from deep500.metrics.flop_rate import FlopRate
from deep500.metrics.generalisation_gap import GeneralisationGap
from deep500.metrics.io_share import IoShare
from deep500.metrics.peak_memory import PeakMemory
from deep500.metrics.rounding_noise import RoundingNoise
from deep500.metrics.skipped_steps import SkippedSteps
from deep500.metrics.step_latency import StepLatency
from deep500.metrics.steps_to_accuracy import StepsToAccuracy
from deep500.metrics.test_accuracy import TestAccuracy
from deep500.metrics.throughput import Throughput
from deep500.metrics.time_to_accuracy import TimeToAccuracy
from deep500.metrics.time_to_quality import TimeToQuality
from deep500.metrics.training_accuracy import TrainingAccuracy
from deep500.metrics.utilisation import Utilisation
from deep500.metrics.validation_accuracy import ValidationAccuracy

EVALUATIONS = [
    {
        "epoch": 1,
        "step": 2,
        "seconds": 0.5,
        "validation": {"accuracy": 60.0},
        "test": None,
    },
    {
        "epoch": 2,
        "step": 4,
        "seconds": 1.0,
        "validation": {"accuracy": 92.0},
        "test": None,
    },
    {
        "epoch": 3,
        "step": 6,
        "seconds": 2.0,
        "validation": {"accuracy": 91.0},
        "test": {"accuracy": 89.0},
    },
]
SERIES = {
    "loss": [3.0, 2.0, 2.0, 1.0, 0.5, 0.25],
    "seconds": [0.25, 0.25, 0.25, 0.25, 0.5, 0.5],
    "data": [0.05, 0.05, 0.05, 0.05, 0.1, 0.1],
    "rounding noise": [1.0, 3.0],
    "minibatch noise": [10.0, 30.0],
}
COUNTERS = {
    "samples": 60,
    "run seconds": 7.2,
    "training accuracy": 95.0,
    "peak memory": 3 * 2.0**20,
    "flops per example": 1e9,
    "least seconds per example": 0.01,
    "energy": 12.0,
    "skipped steps": 2.0,
}
RUN = History(1, SERIES, COUNTERS, EVALUATIONS)
EMPTY = History(1)


@pytest.mark.parametrize(
    ("metric", "value", "unit", "kind", "better"),
    [
        (TestAccuracy(), 89.0, "%", "quality", "higher"),
        (ValidationAccuracy(), 91.0, "%", "quality", "higher"),
        (FinalLoss(), 0.375, "", "quality", "lower"),
        (TimeToAccuracy(92.0), 1.0, "s", "cost", "lower"),
        (TimeToAccuracy(91.5), 1.0, "s", "cost", "lower"),
        (TimeToAccuracy(60.0), 0.5, "s", "cost", "lower"),
        (TimeToAccuracy(99.0), None, "s", "cost", "lower"),
        (Throughput(), 30.0, "samples/s", "rate", "higher"),
        (StepsToAccuracy(91.5), 4.0, "steps", "cost", "lower"),
        (StepsToAccuracy(99.0), None, "steps", "cost", "lower"),
        (TimeToQuality("accuracy", 91.5), 1.0, "s", "cost", "lower"),
        (TrainingAccuracy(), 95.0, "%", "quality", "higher"),
        (GeneralisationGap(), 6.0, "points", "quality", "lower"),
        (StepLatency(), 0.25, "s", "cost", "lower"),
        (StepLatency(0.99), 0.5, "s", "cost", "lower"),
        (PeakMemory(), 3.0, "MiB", "cost", "lower"),
        (FlopRate(), 30.0, "GFLOP/s", "rate", "higher"),
        (Utilisation(), 30.0, "%", "ratio", "higher"),
        (IoShare(), pytest.approx(20.0), "%", "ratio", "lower"),
        (Energy(), 12.0, "J", "cost", "lower"),
        (Cost(2.5), 0.005, "USD", "cost", "lower"),
        (SkippedSteps(), 2.0, "", "count", "lower"),
        (RoundingNoise(), 0.1, "×", "ratio", "lower"),
    ],
)
def test_values(
    metric: Metric, value: float | None, unit: str, kind: str, better: str
) -> None:
    assert metric.value(RUN) == value
    assert (metric.unit, metric.kind, metric.better) == (unit, kind, better)
    assert metric.value(EMPTY) is None


def test_throughput_is_all_work_over_all_time() -> None:
    """10 samples in 1 s and 10 in 9 s are 2 per second; the mean of the two rates would say 5.6."""
    assert (
        Throughput().value(
            replace(EMPTY, series={"seconds": [1.0, 9.0]}, counters={"samples": 20})
        )
        == 2.0
    )


def test_final_loss_of_one_epoch_and_of_a_run_that_diverged() -> None:
    assert FinalLoss().value(replace(RUN, evaluations=EVALUATIONS[:1])) == 2.5
    diverged = FinalLoss().value(replace(RUN, series=SERIES | {"loss": [math.nan] * 6}))
    assert (
        diverged is not None
        and math.isnan(diverged)
        and not FinalLoss().meets(diverged, 1.0)
    )


def test_direction_decides_what_meets_a_target() -> None:
    assert TestAccuracy().meets(90.0, 90.0) and not TestAccuracy().meets(89.9, 90.0)
    assert FinalLoss().meets(0.1, 0.1) and not FinalLoss().meets(0.2, 0.1)
    assert not TimeToAccuracy(99.0).meets(None, 5.0) and not TimeToAccuracy(99.0).meets(
        None, None
    )


def test_pytest_does_not_collect_test_accuracy() -> None:
    assert TestAccuracy.__test__ is False


QUALITIES = {
    "accuracy": Quality("accuracy", "%", "higher"),
    "mean absolute error": Quality("mean absolute error", "m", "lower"),
}


def test_any_quality_of_a_task_by_its_name() -> None:
    test = {"accuracy": 80.0, "mean absolute error": 0.5}
    last = {
        "epoch": 1,
        "step": 6,
        "seconds": 2.0,
        "validation": {"accuracy": 70.0},
        "test": test,
    }
    run = replace(RUN, evaluations=[last])
    error = FinalQuality("mean absolute error").for_qualities(QUALITIES)
    assert (error.value(run), error.unit, error.better) == (0.5, "m", "lower")
    assert error.meets(0.5, 0.6) and not error.meets(0.7, 0.6)
    assert (
        FinalQuality("accuracy", "validation").for_qualities(QUALITIES).value(run)
        == 70.0
    )
    assert error.settings == {"name": "mean absolute error", "split": "test"}


def test_a_quality_that_the_task_does_not_have_is_refused() -> None:
    without = {"mean absolute error": QUALITIES["mean absolute error"]}
    for metric in (
        TestAccuracy(),
        ValidationAccuracy(),
        TimeToAccuracy(90.0),
        FinalQuality("accuracy"),
    ):
        metric.for_qualities(QUALITIES)
        with pytest.raises(Deep500Error, match="is named 'accuracy'. Known: mean abs"):
            metric.for_qualities(without)
    assert Throughput().for_qualities(without) == Throughput()


def test_a_quality_may_be_reached_from_above() -> None:
    records = [
        {
            "epoch": i,
            "step": i,
            "seconds": float(i),
            "validation": {"mean absolute error": e},
        }
        for i, e in enumerate((3.0, 0.9, 0.4), 1)
    ]
    run = replace(RUN, evaluations=records)
    metric = TimeToQuality("mean absolute error", 1.0).for_qualities(QUALITIES)
    assert metric.value(run) == 2.0
    never = TimeToQuality("mean absolute error", 0.1).for_qualities(QUALITIES)
    assert never.value(run) is None and never.censored_at(run) == 3.0


def test_only_ways_to_a_goal_are_censored() -> None:
    assert TimeToAccuracy(99.0).censored_at(RUN) == 2.0
    assert StepsToAccuracy(99.0).censored_at(RUN) == 6.0
    assert (
        TestAccuracy().censored_at(RUN) is None and FinalLoss().censored_at(RUN) is None
    )


def test_a_latency_is_one_that_was_measured() -> None:
    seconds = [i / 100 for i in range(1, 101)]
    run = replace(RUN, series={"seconds": seconds})
    assert StepLatency(0.5).value(run) == 0.5 and StepLatency(0.99).value(run) == 0.99
    assert StepLatency(0.999).value(run) == 1.0


@pytest.mark.parametrize("make", [lambda: StepLatency(1.0), lambda: Cost(-1.0)])
def test_settings_that_make_no_sense_are_refused(make) -> None:
    with pytest.raises(Deep500Error, match="give a number"):
        make()
