"""Shapes, axes and counts that only a run brings: every framework makes programs for them, and takes the right one."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.executor import Executor
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.graph import specializing

NAMES = available_frameworks()
X = np.arange(24, dtype="float32").reshape(2, 3, 4)


def reshaping() -> d5.Network:
    """Reshapes x to a shape that is an input."""
    network = d5.Network("reshaping")
    network.add_input("x", (2, 3, 4))
    network.add_input("to", (2,), "int64")
    network.add_node("Relu", ["x"], ["r"])
    network.add_node("Reshape", ["r", "to"], ["y"])
    network.add_output("y")
    return network


def flattening() -> d5.Network:
    """A layer behind what exporters write for x.reshape(x.shape[0], -1); the batch is open."""
    rng = np.random.default_rng(1)
    network = d5.Network("flattening")
    network.add_input("x", (0, 3, 4))
    network.add_param("zero", np.array([0]), trainable=False)
    network.add_param("rest", np.array([-1]), trainable=False)
    network.add_param("w", rng.standard_normal((12, 5)).astype("float32"))
    network.add_node("Relu", ["x"], ["r"])
    network.add_node("Shape", ["r"], ["s"])
    network.add_node("Gather", ["s", "zero"], ["n"])
    network.add_node("Concat", ["n", "rest"], ["to"], axis=0)
    network.add_node("Reshape", ["r", "to"], ["flat"])
    network.add_node("MatMul", ["flat", "w"], ["y"])
    network.add_node("ReduceMean", ["y", None], ["loss"], keepdims=0)
    network.add_output("y")
    network.add_output("loss")
    return network


def result(executor: Executor, name: str, **inputs: Any) -> np.ndarray:
    return np.asarray(executor.framework.array(executor.inference(inputs)[name]))


def reshapes_right(executor: Executor) -> bool:
    """Whether shapes that take turns are each the one that was asked for."""
    shapes = ((4, 6), (8, 3), (4, 6), (12, 2), (8, 3))
    return all(
        result(executor, "y", x=X, to=np.array(shape)).shape == shape
        for shape in shapes
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_that_is_an_input(name: str) -> None:
    executor = framework(name).executor(reshaping())
    assert reshapes_right(executor)
    found = result(executor, "y", x=X, to=executor.framework.tensor(np.array([4, -1])))
    np.testing.assert_array_equal(found, X.reshape(4, 6))
    with pytest.raises(Deep500Error, match="needs x, to"):
        executor.inference({"x": X})


def test_programs_are_counted() -> None:
    executor = framework("jax").executor(reshaping())
    reshapes_right(executor)
    assert (
        executor.programs.built,
        executor.programs.dropped,
        len(executor.programs),
    ) == (3, 0, 3)
    assert str(executor.programs) == "3 programs (3 built, 0 dropped)"


@pytest.mark.parametrize("name", NAMES)
def test_the_least_recently_used_program_is_dropped(name: str) -> None:
    executor = framework(name).executor(reshaping())
    executor.programs.most = 2
    assert reshapes_right(executor)
    assert len(executor.programs) <= 2
    if name != "reference":  # which builds none
        assert executor.programs.dropped == executor.programs.built - 2 == 2


def test_a_program_for_another_value_would_be_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(specializing, "digest", lambda array: 0)
    with np.errstate(all="ignore"):
        assert not reshapes_right(framework("reference").executor(reshaping()))


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_computed_from_the_batch(name: str) -> None:
    """Inference, gradients and training steps, with batches of two sizes in turn."""
    network = flattening()
    w = network.params["w"].copy()
    executor = framework(name).executor(network)
    rng = np.random.default_rng(2)
    step = executor.training_step(d5.optimizers.SGD(0.5))
    for rows in (2, 5, 2):
        x = rng.standard_normal((rows, 3, 4)).astype("float32")
        flat = np.maximum(x, 0).reshape(rows, 12)
        gradient = flat.T @ np.full((rows, 5), 1 / (rows * 5), "float32")
        executor.inference_and_backprop({"x": x})
        found = executor.framework.array(executor.gradients["w"])
        np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            result(executor, "y", x=x), flat @ w, rtol=1e-4, atol=1e-5
        )
        step({"x": x})
        w -= 0.5 * gradient
        np.testing.assert_allclose(executor.arrays()["w"], w, rtol=1e-4, atol=1e-5)


def test_a_parameter_that_decides_may_be_set() -> None:
    network = d5.Network("transposed")
    network.add_input("x", (2, 3, 4))
    network.add_param("to", np.array([4, 6]), trainable=False)
    network.add_node("Reshape", ["x", "to"], ["y"])
    network.add_output("y")
    executor = framework("reference").executor(network)
    assert result(executor, "y", x=X).shape == (4, 6)
    executor.network.feed_tensor("to", np.array([8, 3]))
    assert result(executor, "y", x=X).shape == (8, 3)
    executor.load({"to": np.array([3, 8])})
    assert result(executor, "y", x=X).shape == (3, 8)


@pytest.mark.parametrize("name", ["pytorch", "reference"])
def test_a_shape_that_data_decide_on(name: str) -> None:
    """How many elements are not zero, as the length of another value."""
    network = d5.Network("counting")
    network.add_input("x", (0,))
    network.add_param("one", np.array([1]), trainable=False)
    network.add_node("NonZero", ["x"], ["places"])
    network.add_node("Shape", ["places"], ["s"], start=1)
    network.add_node("Expand", ["one", "s"], ["y"])
    network.add_output("y")
    executor = framework(name).executor(network)
    for count in (3, 1, 3):
        x = np.zeros(6, "float32")
        x[:count] = 1
        assert result(executor, "y", x=x).tolist() == [1] * count


def test_a_value_that_does_not_fit_is_one_line() -> None:
    network = d5.Network("sums")
    network.add_input("x", (2, 3))
    network.add_input("axis", (2,), "int64")
    network.add_node("CumSum", ["x", "axis"], ["y"], name="sums")
    network.add_output("y")
    executor = framework("reference").executor(network)
    with pytest.raises(Deep500Error, match="'sums'.*'axis'.* a whole number is wanted"):
        executor.inference({"x": np.ones((2, 3), "f4"), "axis": np.array([0, 1])})


def test_networks_of_constants_pay_nothing() -> None:
    network = d5.Network("plain")
    network.add_input("x", (2, 3, 4))
    network.add_node("Reshape", ["x", (4, 6)], ["y"])
    network.add_output("y")
    executor = framework("reference").executor(network)
    assert executor.takes_inputs_as_they_are and executor.decided is None


def test_shapes_behind_a_shape_that_is_computed() -> None:
    network = flattening()
    assert network.specs()["flat"].shape == ("batch", 12)
    assert network.specs({"batch": 7})["y"].shape == (7, 5)
    assert "y" not in reshaping().specs()  # only the value of an input tells


def test_a_loss_behind_a_shape_that_is_computed() -> None:
    network = flattening()
    network.outputs.remove("loss")
    network.remove_node(network.producer("loss").name)
    executor = framework("reference").from_model(network, loss=d5.losses.CrossEntropy())
    for rows in (2, 3):
        batch = {
            "x": np.ones((rows, 3, 4), "float32"),
            "label": np.zeros(rows, "int64"),
        }
        assert executor.inference_and_backprop(batch)["loss"].shape == ()


def test_the_backward_pass_behind_a_shape_that_is_computed() -> None:
    network = flattening()
    backward = network.backward_network(batch=3)
    x = np.random.default_rng(3).standard_normal((3, 3, 4)).astype("float32")
    params = {name: network.params[name] for name in backward.inputs if name != "x"}
    executor = framework("reference").executor(backward)
    found = executor.inference({"x": x, **params})["w.grad"]
    gradient = np.maximum(x, 0).reshape(3, 12).T @ np.full((3, 5), 1 / 15, "float32")
    np.testing.assert_allclose(found, gradient, rtol=1e-4, atol=1e-6)
