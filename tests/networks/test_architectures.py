"""Every network of the folder: it builds, runs, differentiates and trains on every framework."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500 import registry
from deep500.networks._architecture import Architecture

FRAMEWORKS = ["pytorch", "jax", "tensorflow", "onnxruntime"]
KINDS = [registry.find("networks", name) for name in registry.known("networks")]
ARCHITECTURES: list[Any] = [kind for kind in KINDS if issubclass(kind, Architecture)]
EXAMPLES = 8
Results = dict[str, np.ndarray]
each = pytest.mark.parametrize("kind", ARCHITECTURES, ids=lambda kind: kind.__name__)


def tiny(kind: type[Architecture], dtype: str = "float32") -> d5.Network:
    settings, shape, outputs = kind.tiny
    return kind(**settings).build(shape, outputs, seed=3, dtype=dtype)


def batch(network: d5.Network, examples: int = EXAMPLES) -> dict[str, np.ndarray]:
    """Random inputs; whole numbers are below 3, which every tiny network has classes or tokens for."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name, tensor in network.inputs.items():
        shape = (examples, *tensor.shape[1:])
        if tensor.dtype == "int64":
            arrays[name] = rng.integers(0, 2, shape)
        elif name == "label":
            arrays[name] = rng.integers(0, 2, shape).astype(tensor.dtype)
        else:
            arrays[name] = rng.standard_normal(shape).astype(tensor.dtype)
    return arrays


def results(framework: str, network: d5.Network) -> Results:
    """The outputs in evaluation, the loss in training, and the gradients."""
    executor = d5.framework(framework).executor(network.copy(), seed=5, threads=1)
    inputs, array = batch(network), executor.framework.array
    evaluated = {
        name: array(value) for name, value in executor.inference(inputs).items()
    }
    trained = executor.inference_and_backprop(inputs, "loss")
    gradients = {name: array(value) for name, value in executor.gradients.items()}
    return evaluated | {"training loss": array(trained["loss"])} | gradients


def assert_same(
    actual: Results, expected: Results, trainable: list[str], tolerance: float
) -> None:
    """Errors relative to the largest element; of a small gradient to a thousandth of the largest one."""
    assert actual.keys() == expected.keys()
    largest = {name: np.abs(value).max() for name, value in expected.items()}
    floor = 1e-3 * max(largest[name] for name in trainable)
    for name, value in expected.items():
        error = np.abs(actual[name] - value).max()
        assert error <= tolerance * max(largest[name], floor), name


@each
def test_pytorch_agrees_with_the_reference(kind: type[Architecture]) -> None:
    network = tiny(kind, "float64")
    expected, actual = results("reference", network), results("pytorch", network)
    assert list(actual)[:2] == ["loss", "logits"] and actual["loss"].shape == ()
    assert {"x", "label"} <= set(network.inputs)
    examples, classes = actual["logits"].shape[0], kind.tiny[2]
    assert examples == EXAMPLES and classes in actual["logits"].shape[1:]
    assert_same(actual, expected, network.trainable, 1e-8)
    without_gradient = [name for name in network.trainable if not np.any(actual[name])]
    assert not without_gradient


def test_an_error_of_a_thousandth_in_one_gradient_is_seen() -> None:
    network = tiny(d5.networks.LeNet, "float64")
    expected = results("reference", network)
    wrong = expected | {"conv2.bias": expected["conv2.bias"] * 1.001}
    with pytest.raises(AssertionError, match=r"conv2\.bias"):
        assert_same(wrong, expected, network.trainable, 1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@each
def test_every_framework_agrees(kind: type[Architecture], framework: str) -> None:
    network = tiny(kind)
    expected, actual = results("reference", network), results(framework, network)
    assert_same(actual, expected, network.trainable, 1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["reference", *FRAMEWORKS])
@each
def test_every_framework_trains(kind: type[Architecture], framework: str) -> None:
    network = tiny(kind)
    executor = d5.framework(framework).executor(network, threads=1)
    step, inputs = executor.training_step(d5.optimizers.Adam(0.01)), batch(network)
    losses = [executor.framework.array(step(inputs)["loss"]) for _ in range(30)]
    assert losses[-1] < 0.9 * losses[0]


@each
def test_it_is_a_pure_function_of_the_seed(kind: type[Architecture]) -> None:
    settings, shape, outputs = kind.tiny
    first, again, other = (
        kind(**settings).build(shape, outputs, seed) for seed in (3, 3, 4)
    )
    names = first.params.keys()
    assert all(np.array_equal(first.params[name], again.params[name]) for name in names)
    assert any(
        not np.array_equal(first.params[name], other.params[name]) for name in names
    )


@pytest.mark.slow
@each
def test_it_survives_a_file(kind: type[Architecture]) -> None:
    network = tiny(kind)
    again = d5.Network.from_onnx(network.to_onnx().SerializeToString())
    assert again.trainable == network.trainable
    inputs = batch(network)
    before = d5.framework("reference").executor(network).inference(inputs)
    after = d5.framework("reference").executor(again).inference(inputs)
    assert np.array_equal(before["logits"], after["logits"])
