"""Networks run deferred, eager or compiled: as the framework declares, as they are labelled, and with equal results."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.framework import EXECUTIONS
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import available_frameworks, framework
from deep500.networks import Mlp

FRAMEWORKS = available_frameworks()
BATCH = {"x": np.ones((2, 4), "float32"), "label": np.array([0, 2])}
WAYS = [
    pytest.param(name, way, marks=[pytest.mark.slow] * (way == "compiled" and name == "pytorch"))
    for name in FRAMEWORKS
    for way in framework(name).executions
]  # fmt: skip


class Counted(Operator):
    """2 x; counts how often Python runs its formula."""

    calls = 0

    def forward(self, xp, x):
        Counted.calls += 1
        return x + x

    def backward(self, xp, dy):
        return dy + dy


def counted_network() -> d5.Network:
    network = d5.Network("counted")
    x = network.add_input("x", ("batch", 3))
    weight = network.add_param("w", np.ones((3, 3), "float32"))
    product = network.add_node("MatMul", (x, weight))
    network.add_output(network.add_node(Counted(), (product,), name="twice"))
    return network


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize(("name", "way"), WAYS)
def test_every_declared_execution_computes_the_same(name: str, way: str) -> None:
    network = Mlp((6,)).build((4,), 3)
    right = framework("reference").executor(network)
    executor = framework(name).executor(network, execution=way)
    assert executor.execution == way
    array = executor.framework.array
    expected = right.inference_and_backprop(BATCH)
    outputs = executor.inference_and_backprop(BATCH)
    for output, value in expected.items():
        assert np.allclose(array(outputs[output]), value, rtol=1e-5)
    for param, gradient in right.gradients.items():
        actual = array(executor.gradients[param])
        assert np.allclose(actual, gradient, rtol=1e-4, atol=1e-6)
    steps = [one.training_step(d5.optimizers.Adam(0.1)) for one in (right, executor)]
    for _ in range(3):
        for step in steps:
            step(BATCH)
            step.backprop(BATCH)
            step.update()
    for param, value in right.arrays().items():
        assert np.allclose(executor.arrays()[param], value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_what_is_not_declared_is_refused_in_one_line(name: str) -> None:
    adapter = framework(name)
    network = Mlp((3,)).build((2,), 2)
    for way in set(EXECUTIONS) - set(adapter.executions):
        with pytest.raises(Unsupported, match=f"{name} has no {way} execution"):
            adapter.executor(network, execution=way)
    with pytest.raises(
        Deep500Error, match="no execution of a network is named 'egaer'"
    ):
        adapter.executor(network, execution="egaer")
    with pytest.raises(Deep500Error, match="give one of them"):
        adapter.executor(network, execution="eager", compile=True)


@pytest.mark.parametrize("name", ["jax", "tensorflow", "pytorch", "reference"])
def test_eager_runs_one_operator_after_the_other_in_every_call(name: str) -> None:
    """A compiled or deferred program runs the formula while it is traced, and never again."""
    adapter = framework(name)
    if not adapter.available():
        pytest.skip(f"{name} is not installed")
    inputs = {"x": np.ones((2, 3), "float32")}
    calls = {}
    for way in adapter.executions:
        if (name, way) == ("pytorch", "compiled"):
            continue
        executor = adapter.executor(counted_network(), execution=way)
        executor.inference(inputs)
        before = Counted.calls
        for _ in range(3):
            executor.inference(inputs)
        calls[way] = Counted.calls - before
    assert calls.pop("eager") == 3
    assert set(calls.values()) <= {0}


def test_wrapped_jax_function_runs_eagerly_if_asked_to() -> None:
    jax = framework("jax")
    if not jax.available():
        pytest.skip("jax is not installed")
    kinds = []

    def function(params: Any, x: Any) -> Any:
        kinds.append(type(x).__name__)
        return x * params["w"]

    params = {"w": np.ones(3, "float32")}
    executor = jax.from_model(function, params=params, execution="eager")
    for _ in range(2):
        executor.inference({"x": np.ones((2, 3), "float32")})
    assert kinds == ["ArrayImpl", "ArrayImpl"]


def test_the_usual_execution_is_the_fast_one() -> None:
    usual = {name: framework(name).executions[0] for name in FRAMEWORKS}
    known = {
        "jax": "compiled",
        "onnxruntime": "deferred",
        "pytorch": "eager",
        "reference": "eager",
        "tensorflow": "deferred",
    }
    assert usual == {name: known[name] for name in usual}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_model_of_another_framework_is_one_clear_line(name: str) -> None:
    torch = pytest.importorskip("torch")
    if name == "pytorch":
        assert framework(name).from_model(torch.nn.Linear(2, 2))
        return
    with pytest.raises(Unsupported) as caught:
        framework(name).from_model(torch.nn.Linear(2, 2))
    said = str(caught.value)
    assert said.startswith("a torch module runs on pytorch only: export it to ONNX")
    assert "\n" not in said


def test_a_constant_that_is_missing_is_named_with_what_to_do() -> None:
    network = counted_network()
    with pytest.raises(
        Deep500Error, match="named 'half'.*the Mul takes a constant.*add_param"
    ):
        network.add_node("Mul", (network.outputs[0], "half"))
    with pytest.raises(Deep500Error, match="trainable=False.*makes a constant"):
        network.add_node("Mul", (network.outputs[0], np.float32(0.5)))
    half = network.add_param("half", np.array(0.5, "float32"), trainable=False)
    network.add_output(network.add_node("Mul", (network.outputs[0], half)))
    assert "half" not in network.trainable
