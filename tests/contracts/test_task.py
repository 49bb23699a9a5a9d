"""Promises of every task that there is, and of what the contract itself checks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from deep500 import registry
from deep500.contracts.dataset import Split
from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.contracts.task import Array, Quality, Task, check_classes
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.losses import MeanAbsoluteError
from deep500.tasks import Classification, NextToken, Reconstruction, Regression
from deep500.training.evaluation import evaluate

ROWS, LENGTH, WIDTH = 12, 5, 4
TASKS = [registry.find("tasks", name)() for name in registry.known("tasks")]
every_task = pytest.mark.parametrize(
    "task", TASKS, ids=lambda task: type(task).__name__
)


def example(task: Task) -> dict[str, np.ndarray]:
    """Arrays of the kinds that the task names."""
    rng = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    for name, wanted in task.arrays().items():
        dimensions = 1 if wanted.dimensions is None else wanted.dimensions
        shape = (ROWS, *(LENGTH,) * dimensions)
        if wanted.kind == "integer":
            arrays[name] = rng.integers(0, WIDTH, shape)
        else:
            arrays[name] = rng.standard_normal(shape).astype(np.float32)
    return arrays


def prediction_for(task: Task, target: np.ndarray) -> np.ndarray:
    """A prediction of a shape that the task's loss compares with this target."""
    of_classes = [(ROWS, WIDTH), (ROWS, LENGTH, WIDTH)]
    for shape in [target.shape] if target.dtype.kind == "f" else of_classes:
        wanted = task.loss().target(TensorSpec(shape))
        if (
            wanted.shape == target.shape
            and np.dtype(wanted.dtype).kind == target.dtype.kind
        ):
            return np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    pytest.skip(f"no usual shape of a prediction goes with the loss of {task}")


class Fixed:
    """Predicts by looking up the rows that it is asked about."""

    framework = framework("reference")

    def __init__(
        self, task: Task, arrays: Mapping[str, np.ndarray], prediction: np.ndarray
    ):
        self.task, self.rows, self.prediction = task, arrays["row"], prediction

    def inference(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {self.task.prediction: self.prediction[inputs["row"]]}


@every_task
def test_qualities_have_names_and_directions(task: Task) -> None:
    names = [quality.name for quality in task.qualities]
    assert names and len(set(names)) == len(names) and all(names)
    assert {quality.better for quality in task.qualities} <= {"lower", "higher"}


@every_task
def test_an_evaluation_does_not_depend_on_the_size_of_batches(task: Task) -> None:
    arrays = {**example(task), "row": np.arange(ROWS)}
    prediction = prediction_for(task, arrays[task.target])
    predictor = Fixed(task, arrays, prediction)
    whole = evaluate(predictor, task, Split(arrays), ROWS)
    assert list(whole) == [quality.name for quality in task.qualities]
    assert all(np.isfinite(value) for value in whole.values())
    for batch_size in (1, 5, ROWS + 3):
        assert evaluate(predictor, task, Split(arrays), batch_size) == whole
    order = np.random.default_rng(2).permutation(ROWS)
    shuffled = Split({name: values[order] for name, values in arrays.items()})
    assert evaluate(predictor, task, shuffled, 5) == whole


@pytest.mark.parametrize(
    "task", [Classification(), Regression(), Reconstruction(), NextToken()]
)
def test_the_best_prediction_is_better_than_a_random_one(task: Task) -> None:
    arrays = {**example(task), "row": np.arange(ROWS)}
    target, random = arrays[task.target], prediction_for(task, arrays[task.target])
    best = (
        target
        if target.dtype.kind == "f"
        else 20 * np.eye(WIDTH, dtype=np.float32)[target]
    )
    good, bad = (
        evaluate(Fixed(task, arrays, p), task, Split(arrays), 4) for p in (best, random)
    )
    for quality in task.qualities:
        better = good[quality.name] > bad[quality.name]
        assert better == (quality.better == "higher"), quality


@every_task
def test_a_loss_is_attached_to_a_copy_of_a_network_without_one(task: Task) -> None:
    arrays = example(task)
    prediction = prediction_for(task, arrays[task.target])
    network = Network()
    network.add_param("p", prediction)
    network.add_node("Identity", ["p"], [task.prediction])
    network.add_output(task.prediction)
    with_loss = task.attach_loss(network)
    assert network.outputs == [task.prediction] and "loss" in with_loss.outputs
    assert task.attach_loss(with_loss) is with_loss
    outputs = (
        framework("reference")
        .executor(with_loss)
        .inference({task.target: arrays[task.target]})
    )
    assert np.shape(outputs["loss"]) == () and np.isfinite(outputs["loss"])


@every_task
def test_data_of_another_kind_are_refused(task: Task) -> None:
    good = example(task)
    task.check_arrays({"train": Split(good)})
    for name, values in good.items():
        other = {**good, name: values.astype(np.complex64)}
        with pytest.raises(
            Deep500Error, match=f"'{name}' of the split 'train' holds complex64"
        ):
            task.check_arrays({"train": Split(other)})
        lacking = {key: value for key, value in good.items() if key != name} | {
            "odd": values
        }
        with pytest.raises(
            Deep500Error, match=f"needs '{name}', and the split 'train' has"
        ):
            task.check_arrays({"train": Split(lacking)})


def test_dimensions_are_checked() -> None:
    specs = Split({"label": np.zeros(3, int), "x": np.zeros((2, 3, 4))}).specs
    assert Array("integer", 0).fault(specs["label"]) is None
    assert "1 dimensions are needed" in str(Array("real", 1).fault(specs["x"]))


def test_labels_beyond_the_classes_are_refused() -> None:
    splits = {
        "train": Split({"label": np.array([0, 2])}),
        "test": Split({"label": np.array([3])}),
    }
    check_classes(splits, "label", 4, "classes")
    with pytest.raises(
        Deep500Error, match="'label' of the split 'test' goes from 3 to 3, and the .* 3"
    ):
        check_classes(splits, "label", 3, "classes")


def test_a_value_that_is_not_finite_makes_the_quality_not_a_number() -> None:
    arrays = {"x": np.zeros((3, 1)), "target": np.ones((3, 1)), "row": np.arange(3)}
    prediction = np.array([[1.0], [np.inf], [1.0]])
    found = evaluate(
        Fixed(Regression(), arrays, prediction), Regression(), Split(arrays), 2
    )
    assert np.isnan(found["mean squared error"])


def test_a_task_without_a_loss_says_so() -> None:
    class Odd(Task):
        input: str = "x"
        target: str = "x"
        prediction: str = "y"
        qualities = (Quality("q"),)

    network = Network()
    network.add_input("x", (0, 2))
    network.add_node("Identity", ["x"], ["y"])
    network.add_output("y")
    with pytest.raises(
        Deep500Error, match="the task Odd names no loss: give the network an output"
    ):
        Odd().attach_loss(network)
    assert Odd().attach_loss(network, MeanAbsoluteError()).outputs == ["loss", "y"]


def test_a_prediction_that_the_network_does_not_have_is_named() -> None:
    network = Network()
    network.add_input("x", (0, 2))
    network.add_output(network.add_node("Relu", ["x"], ["y"]))
    with pytest.raises(Deep500Error, match="no output 'logits'; its outputs are: y"):
        Classification().attach_loss(network)
