"""Promises of every loss that there is: a scalar, the same on every framework, with the right gradient."""

import numpy as np
import pytest

from deep500 import registry
from deep500.contracts.loss import Loss, described
from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.losses import CrossEntropy, MeanSquaredError, ZeroOne
from deep500.tasks import Classification

SHAPES = [(4, 3), (4, 5, 3)]
LOSSES = [registry.find("losses", name)() for name in registry.known("losses")]
every_loss = pytest.mark.parametrize(
    "loss", LOSSES, ids=lambda loss: type(loss).__name__
)
every_trained_loss = pytest.mark.parametrize(
    "loss",
    [loss for loss in LOSSES if loss.trains],
    ids=lambda loss: type(loss).__name__,
)


def setting(
    loss: Loss, dtype: str = "float64"
) -> tuple[Network, dict[str, np.ndarray]]:
    """A network whose prediction is a parameter, with the loss, and a target for it."""
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        network = Network()
        network.add_param("p", rng.standard_normal(shape).astype(dtype))
        network.add_output(network.add_node("Identity", ["p"], ["prediction"]))
        wanted = loss.target(TensorSpec(shape, dtype))
        classes = wanted.dtype == "int64"
        target = (
            rng.integers(0, 3, wanted.shape) if classes else rng.random(wanted.shape)
        )
        target = target.astype(wanted.dtype)
        try:
            with_loss = loss.attach(network)
            framework("reference").executor(with_loss).inference(
                {loss.target_name: target}
            )
            return with_loss, {loss.target_name: target}
        except (ValueError, IndexError, Deep500Error):
            continue
    pytest.skip(f"{loss} takes predictions of none of the shapes {SHAPES}")


@every_trained_loss
def test_it_is_one_number_that_gets_smaller_against_its_gradient(loss: Loss) -> None:
    network, inputs = setting(loss)
    executor = framework("reference").executor(network)
    before = executor.inference_and_backprop(inputs)["loss"]
    assert np.shape(before) == ()
    start = executor.arrays()["p"]
    executor.load({"p": start - 1e-3 * executor.gradients["p"]})
    assert executor.inference(inputs)["loss"] < before


@every_trained_loss
def test_the_gradient_is_that_of_finite_differences(loss: Loss) -> None:
    network, inputs = setting(loss)
    executor = framework("reference").executor(network)
    start, h = executor.arrays()["p"], 1e-6
    executor.inference_and_backprop(inputs)
    gradient = executor.gradients["p"].copy()
    for place in np.ndindex(*start.shape):
        ends = []
        for sign in (1, -1):
            moved = start.copy()
            moved[place] += sign * h
            executor.load({"p": moved})
            ends.append(float(executor.inference(inputs)["loss"]))
        assert gradient[place] == pytest.approx(
            (ends[0] - ends[1]) / (2 * h), rel=1e-4, abs=1e-8
        )


IMPORTED_SLOWLY = [
    pytest.param(name, marks=pytest.mark.slow) for name in ("jax", "tensorflow")
]


@pytest.mark.parametrize("name", ["pytorch", "onnxruntime", *IMPORTED_SLOWLY])
@every_loss
def test_every_framework_agrees_with_the_reference(loss: Loss, name: str) -> None:
    if not framework(name).available():
        pytest.skip(f"{name} is not installed")
    network, inputs = setting(loss)
    expected = framework("reference").executor(network)
    narrow, batch = setting(loss, "float32")
    executor = framework(name).executor(narrow)
    if not loss.trains:
        values = executor.inference(batch)["loss"], expected.inference(inputs)["loss"]
        assert float(executor.framework.array(values[0])) == float(values[1])
        return
    value = executor.inference_and_backprop(batch)["loss"]
    exact = expected.inference_and_backprop(inputs)["loss"]
    assert float(executor.framework.array(value)) == pytest.approx(
        float(exact), rel=1e-5
    )
    gradient = executor.framework.array(executor.gradients["p"])
    assert np.allclose(gradient, expected.gradients["p"], rtol=1e-4, atol=1e-6)


@every_loss
def test_its_nodes_compute_its_formula(loss: Loss) -> None:
    """The written-once formula over NumPy is what the nodes give, also where ONNX has an operator for it."""
    if type(loss).formula is Loss.formula:
        pytest.skip(f"{type(loss).__name__} is an operator of ONNX")
    network, inputs = setting(loss)
    reference = framework("reference")
    by_formula = loss.formula(
        reference.xp, network.params["p"], inputs[loss.target_name]
    )
    by_nodes = reference.executor(network).inference(inputs)["loss"]
    assert float(by_formula) == pytest.approx(float(by_nodes), rel=1e-12)


@pytest.mark.parametrize("train", ["task", "from_model"])
def test_a_loss_without_derivative_trains_nothing(train: str) -> None:
    network = Network()
    network.add_input("x", (0, 3))
    network.add_output(network.add_node("Relu", ["x"], ["logits"]))
    with pytest.raises(
        Unsupported, match="ZeroOne is for evaluation only: its derivative is 0"
    ):
        if train == "task":
            Classification().attach_loss(network, ZeroOne())
        else:
            framework("reference").from_model(network, loss=ZeroOne())
    assert ZeroOne().attach(network, "logits").outputs[0] == "loss"


def test_a_formula_that_returns_nothing_is_refused() -> None:
    class Forgetful(Loss):
        def formula(self, xp, prediction, target):
            xp.mean(prediction - target)

    network = Network()
    network.add_input("x", (0, 3))
    network.add_output("x")
    with pytest.raises(Deep500Error, match="the formula of Forgetful returns None"):
        Forgetful().attach(network)


def test_the_shape_of_a_value_is_inferred() -> None:
    network = Network()
    network.add_input("x", (0, 2, 4))
    network.add_param("w", np.zeros((8, 3)))
    network.add_node("Flatten", ["x"], ["flat"])
    network.add_node("MatMul", ["flat", "w"], ["y"])
    assert described(network, "y").shape == ("batch", 3)
    assert described(network, "w") == TensorSpec((8, 3), "float64")


def test_a_network_with_several_outputs_must_be_told_which() -> None:
    network = Network()
    network.add_input("x", (0, 2))
    network.add_output("x")
    network.add_output(network.add_node("Relu", ["x"], ["y"]))
    with pytest.raises(
        Deep500Error, match="the outputs x, y: say which one MeanSquaredError is of"
    ):
        MeanSquaredError().attach(network)
    assert MeanSquaredError().attach(network, "y").inputs["target"].shape == (
        "batch",
        2,
    )
    assert CrossEntropy().attach(network, "y").inputs["label"] == TensorSpec(
        ("batch",), "int64"
    )


def test_a_target_of_another_shape_is_refused_where_it_would_broadcast() -> None:
    network = Network()
    network.add_input("x", (0, 2, 2))
    network.add_output(network.add_node("Flatten", ["x"], ["y"]))
    with pytest.raises(
        Deep500Error, match=r"needs a target of the shape \('batch', 4\), and 'x' has"
    ):
        MeanSquaredError().attach(network, "y", "x")
