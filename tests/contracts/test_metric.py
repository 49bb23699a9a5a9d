"""Promises of every metric that there is."""

from dataclasses import MISSING, fields
from typing import Any

import pytest

from deep500 import registry
from deep500.contracts.metric import History, Metric
from deep500.contracts.task import Quality

METRICS = [registry.find("metrics", name) for name in registry.known("metrics")]
every_metric = pytest.mark.parametrize("kind", METRICS, ids=lambda kind: kind.__name__)
QUALITIES = {"accuracy": Quality("accuracy", "%", "higher")}
GUESSES: dict[Any, Any] = {float: 50.0, int: 1, str: "accuracy"}


def made(kind: type[Metric]) -> Metric:
    """The metric with a guess for every setting that has no default."""
    needed = [
        f for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING
    ]
    return kind(**{field.name: GUESSES[field.type] for field in needed}).for_qualities(
        QUALITIES
    )


def record(epoch: int, validation: float, test: float | None) -> dict[str, Any]:
    return {
        "epoch": epoch,
        "step": 2 * epoch,
        "seconds": 0.5 * epoch,
        "validation": {"accuracy": validation},
        "test": None if test is None else {"accuracy": test},
    }


RUN = History(
    seed=0,
    series={
        "loss": [2.0, 1.0, 0.5, 0.25],
        "seconds": [0.25] * 4,
        "data": [0.05] * 4,
        "rounding noise": [0.1],
        "minibatch noise": [2.0],
        "seconds of rank 0": [0.25] * 4,
        "seconds of rank 1": [0.2] * 4,
        "waiting of rank 0": [0.0] * 4,
        "waiting of rank 1": [0.05] * 4,
        "staleness of rank 1": [0.0, 1.0],
        "consensus distance": [0.5, 0.25],
    },
    counters={
        "samples": 40,
        "bytes of rank 0": 4e6,
        "bytes of rank 1": 4e6,
        "messages of rank 0": 8.0,
        "messages of rank 1": 8.0,
        "run seconds": 2.0,
        "training accuracy": 65.0,
        "peak memory": 2.0**28,
        "flops per example": 1e6,
        "least seconds per example": 1e-3,
        "energy": 12.0,
        "skipped steps": 1.0,
    },
    evaluations=[record(1, 40.0, None), record(2, 60.0, 55.0)],
)


@every_metric
def test_it_says_unit_kind_and_direction(kind: type[Metric]) -> None:
    metric = made(kind)
    assert isinstance(metric.unit, str)
    assert metric.kind in ("cost", "rate", "ratio", "count", "quality")
    assert metric.better in ("lower", "higher", None)


@every_metric
def test_it_reads_a_run_and_has_no_value_for_an_empty_one(kind: type[Metric]) -> None:
    metric = made(kind)
    value = metric.value(RUN)
    assert isinstance(value, float) and metric.value(RUN) == value
    assert metric.value(History(seed=0)) is None


@every_metric
def test_a_target_works_in_its_direction(kind: type[Metric]) -> None:
    metric = made(kind)
    if metric.better is None:
        assert metric.meets(1.0, 2.0) and metric.meets(2.0, 1.0)
        return
    assert metric.meets(2.0, 1.0) == (metric.better == "higher")
    assert metric.meets(1.0, 2.0) == (metric.better == "lower")
    assert not metric.meets(None, 1.0)
