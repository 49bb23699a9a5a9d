"""Every metric declares the range of its values, and what it declares is true of the values of real runs."""

import math
from typing import Any

import pytest

import deep500 as d5
from deep500 import registry
from deep500.contracts.metric import POSITIVE, REAL, SHARE, Metric, Scale, usual_scale
from deep500.contracts.task import Quality
from deep500.errors import Deep500Error

NAMES = registry.known("metrics")


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_declares_its_scale(name: str) -> None:
    metric: Any = registry.find("metrics", name)
    if name == "FinalQuality":
        return  # that of the task's quality
    assert isinstance(metric.scale, Scale)
    is_percentage = metric.unit == "%" and metric.scale == SHARE
    unbounded = name in ("LoadImbalance", "Utilisation")
    assert is_percentage or metric.unit != "%" or unbounded


def test_the_scale_of_a_quality_is_the_tasks() -> None:
    qualities = {
        "R2": Quality("R2", "", "higher", high=1.0),
        "error": Quality("error", "m", "lower", low=0.0),
        "score": Quality("score"),
        "accuracy": Quality("accuracy", "%"),
    }
    scales = {}
    for name in qualities:
        metric = d5.FinalQuality(name).for_qualities(qualities)
        scales[name] = metric.value_range
    expected = {"R2": Scale(high=1.0), "error": POSITIVE, "score": REAL}
    assert scales == expected | {"accuracy": SHARE}
    assert d5.tasks.Regression.qualities[-1].high == 1.0


def test_a_metric_that_declares_none_has_that_of_its_kind() -> None:
    class Mine(Metric):
        unit = "x"

    assert Mine().value_range == REAL
    assert usual_scale("quality", "%") == usual_scale("ratio", "%") == SHARE
    for kind in ("cost", "rate", "count", "ratio"):
        assert usual_scale(kind, "s") == POSITIVE


def test_a_scale_is_a_scale() -> None:
    with pytest.raises(Deep500Error, match="give SHARE, POSITIVE, REAL or a Scale"):

        class Mine(Metric):
            scale = (0, 1)  # type: ignore[assignment]


def test_the_range_of_a_metric_of_a_recipe_is_recorded() -> None:
    from deep500.contracts.recipe import _declared_range
    from deep500.training.recorded import RecordedMetric

    class Mine(Metric):
        scale = Scale(high=2.0)

    assert _declared_range(Mine()) == {"high": 2.0}
    assert RecordedMetric("k", high=2.0).value_range == Scale(-math.inf, 2.0)
    with pytest.raises(Deep500Error, match="no usable range"):
        RecordedMetric("k", low="x")  # type: ignore[arg-type]
