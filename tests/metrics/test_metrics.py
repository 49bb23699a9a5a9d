"""Metrics read a history; here is one whose numbers are known."""

import math
from dataclasses import replace

import pytest

from deep500 import registry
from deep500.contracts.metric import History, Metric
from deep500.metrics.final_loss import FinalLoss
from deep500.metrics.test_accuracy import TestAccuracy
from deep500.metrics.throughput import Throughput
from deep500.metrics.time_to_accuracy import TimeToAccuracy
from deep500.metrics.validation_accuracy import ValidationAccuracy

EVALUATIONS = [
    {"epoch": 1, "step": 2, "seconds": 0.5, "validation": 60.0, "test": None},
    {"epoch": 2, "step": 4, "seconds": 1.0, "validation": 92.0, "test": None},
    {"epoch": 3, "step": 6, "seconds": 2.0, "validation": 91.0, "test": 89.0},
]
RUN = History(
    1,
    6,
    [3.0, 2.0, 2.0, 1.0, 0.5, 0.25],
    [0.25, 0.25, 0.25, 0.25, 0.5, 0.5],
    EVALUATIONS,
    samples=60,
)
EMPTY = History(1, 0, [], [], [])


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
    ],
)
def test_values(metric: Metric, value: float | None, unit: str, kind: str, better: str) -> None:
    assert metric.value(RUN) == value
    assert (metric.unit, metric.kind, metric.better) == (unit, kind, better)
    assert metric.value(EMPTY) is None


def test_throughput_is_all_work_over_all_time() -> None:
    """10 samples in 1 s and 10 in 9 s are 2 per second; the mean of the two rates would say 5.6."""
    assert Throughput().value(replace(EMPTY, step_seconds=[1.0, 9.0], samples=20)) == 2.0


def test_final_loss_of_one_epoch_and_of_a_run_that_diverged() -> None:
    assert FinalLoss().value(replace(RUN, evaluations=EVALUATIONS[:1])) == 2.5
    diverged = FinalLoss().value(replace(RUN, losses=[math.nan] * 6))
    assert diverged is not None and math.isnan(diverged) and not FinalLoss().meets(diverged, 1.0)


def test_direction_decides_what_meets_a_target() -> None:
    assert TestAccuracy().meets(90.0, 90.0) and not TestAccuracy().meets(89.9, 90.0)
    assert FinalLoss().meets(0.1, 0.1) and not FinalLoss().meets(0.2, 0.1)
    assert not TimeToAccuracy(99.0).meets(None, 5.0) and not TimeToAccuracy(99.0).meets(None, None)


def test_pytest_does_not_collect_test_accuracy() -> None:
    assert TestAccuracy.__test__ is False


def test_every_metric_is_found_by_name_and_tried_here() -> None:
    tried = {TestAccuracy, ValidationAccuracy, FinalLoss, TimeToAccuracy, Throughput}
    assert {registry.find("metrics", name) for name in registry.known("metrics")} == tried
