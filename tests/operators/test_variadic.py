"""Operators with any number of results, in networks: read, written, run and differentiated on every framework."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.frameworks import available_frameworks, framework
from deep500.operators import Split

X, W = (
    np.array([[1.0, -2.0, 3.0, 0.5, 4.0]], "float32"),
    np.array([2.0, 3.0, 5.0, 7.0, 11.0], "float32"),
)


def network(sizes: tuple[int, ...] | None) -> Network:
    """The sum of squares of the first part of x * w; nobody uses the other parts."""
    net = Network("parts")
    net.add_input("x", (0, 5))
    net.add_param("w", W)
    net.add_node("Mul", ["x", "w"], ["y"])
    attributes: dict[str, Any] = {"axis": 1} if sizes else {"axis": 1, "num_outputs": 3}
    net.add_node(
        "Split", ["y", sizes] if sizes else ["y"], ["a", "b", "c"], **attributes
    )
    net.add_node("ReduceSumSquare", ["a"], ["loss"], keepdims=0)
    for name in ("loss", "b", "c"):
        net.add_output(name)
    return net


@pytest.mark.parametrize("sizes", [None, (2, 2, 1)], ids=["num_outputs", "sizes"])
@pytest.mark.parametrize("name", available_frameworks())
def test_parts_and_gradients_are_those_of_the_formula(
    name: str, sizes: tuple[int, ...] | None
) -> None:
    for net in (network(sizes), Network.from_onnx(network(sizes).to_onnx())):
        executor = framework(name).executor(net)
        found = executor.inference_and_backprop({"x": X})
        np.testing.assert_allclose(
            framework(name).array(found["c"]), [[44.0]], rtol=1e-6
        )
        np.testing.assert_allclose(
            framework(name).array(found["b"]), [[15.0, 3.5]], rtol=1e-6
        )
        gradient = framework(name).array(executor.gradients["w"])
        np.testing.assert_allclose(gradient, [2 * 2, 2 * 3 * 4, 0, 0, 0], rtol=1e-6)


def test_before_opset_18_the_node_alone_says_how_many() -> None:
    node = helper.make_node("Split", ["x"], ["a", "b"], axis=1)
    infos = {
        n: helper.make_tensor_value_info(n, 1, [1, k])
        for n, k in (("x", 4), ("a", 2), ("b", 2))
    }
    graph = helper.make_graph([node], "old", [infos["x"]], [infos["a"], infos["b"]])
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8
    )
    onnx.checker.check_model(model)
    found = (
        framework("reference")
        .executor(Network.from_onnx(model))
        .inference({"x": X[:, :4]})
    )
    assert found["b"].tolist() == [[3.0, 0.5]]


def test_split_needs_to_know_its_parts() -> None:
    with pytest.raises(ValueError, match="sizes of its parts or num_outputs"):
        Split().infer(TensorSpec((4, 2)))
