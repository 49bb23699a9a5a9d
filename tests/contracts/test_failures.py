"""What goes wrong while a network runs is one line that names the node, on every framework."""

from typing import Any

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.errors import Deep500Error
from deep500.frameworks import available_frameworks, framework
from deep500.networks import Mlp

FRAMEWORKS = available_frameworks()


def misfit() -> Network:
    """The second product does not fit the first."""
    network = Network("misfit")
    network.add_input("x", (0, 2))
    network.add_param("w", np.ones((2, 3), np.float32))
    network.add_param("v", np.ones((3, 2), np.float32))
    network.add_node("MatMul", ("x", "w"), ["a"], name="first")
    network.add_node("MatMul", ("a", "v"), ["b"], name="second")
    network.add_node("ReduceSum", ("b",), ["loss"], name="sum", keepdims=0)
    network.add_output("loss")
    network.params["v"] = np.ones((4, 2), np.float32)  # an edit would be refused
    return network


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("method", ["inference", "inference_and_backprop"])
def test_the_node_that_fails_is_named(name: str, method: str) -> None:
    executor = framework(name).executor(misfit())
    with pytest.raises(Deep500Error, match="node 'second'") as error:
        getattr(executor, method)({"x": np.ones((1, 2), np.float32)})
    assert "\n" not in str(error.value)


def test_a_derivative_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network("planted")
    network.add_input("x", (0, 2))
    network.add_param("w", np.ones(2, np.float32))
    network.add_node("Mul", ("x", "w"), ["a"], name="product")
    network.add_node("ReduceSum", ("a",), ["loss"], name="sum", keepdims=0)
    network.add_output("loss")

    def broken(self: Any, xp: Any, dy: Any, a: Any, b: Any) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(type(network.node("product").operator), "backward", broken)
    executor = framework("reference").executor(network)
    batch = {"x": np.ones((1, 2), np.float32)}
    assert executor.inference(batch)["loss"] == 2
    with pytest.raises(
        Deep500Error, match="the derivative of node 'product': .*planted"
    ):
        executor.inference_and_backprop(batch)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({"x": [["a", "b"]], "label": [0]}, "'x' is of <U1"),
        ({"x": np.ones((1, 3), np.float32), "label": [0]}, "'x' has the shape"),
        ({"label": [0]}, "needs x|'x' is missing"),
        ([1], "a mapping|needs x"),
        (None, "a mapping"),
    ],
)
def test_wrong_inputs_are_one_line(name: str, inputs: Any, reason: str) -> None:
    executor = framework(name).executor(Mlp(hidden=(3,)).build((2,), 2, seed=0))
    with pytest.raises(Deep500Error, match=reason) as error:
        executor.inference(inputs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_least_integer_by_minus_one_ends_no_process(name: str, dtype: str) -> None:
    network = Network("division")
    network.add_input("a", (0,), dtype)
    network.add_input("b", (0,), dtype)
    network.add_node("Div", ("a", "b"), ["quotient"])
    network.add_node("Mod", ("a", "b"), ["rest"])
    network.add_output("quotient")
    network.add_output("rest")
    least = np.iinfo(dtype).min
    executor = framework(name).executor(network)
    inputs = {"a": np.array([least, 7, -7], dtype), "b": np.array([-1, -2, 2], dtype)}
    results = executor.inference(inputs)
    assert executor.framework.array(results["quotient"]).tolist() == [least, -3, -3]
    assert executor.framework.array(results["rest"]).tolist() == [0, -1, 1]
