"""Static inputs of a network's nodes: accepted in every form, kept in one, written to ONNX and read back."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.errors import Deep500Error

FRAMEWORKS = ["reference", "pytorch", "jax", "tensorflow", "onnxruntime"]
X = np.arange(24, dtype="float32").reshape(2, 3, 4)
FORMS: list[Any] = [(2, 1), [2, 1], np.array([2, 1]), np.array([2, 1], "int32")]


def network_of(axes: Any, perm: Any) -> d5.Network:
    network = d5.Network()
    x = network.add_input("x", (0, 3, 4))
    turned = network.add_node("Transpose", [x], perm=perm)
    network.add_node("ReduceSum", [turned, axes], ["y"])
    network.add_output("y")
    return network


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_a_node_keeps_one_form(form: Any) -> None:
    network = network_of(form, [0, 2, 1])
    assert network.node("ReduceSum").inputs[1] == (2, 1)
    assert [type(n) for n in network.node("ReduceSum").inputs[1]] == [int, int]
    assert network.node("Transpose").operator == d5.operators.Transpose(perm=(0, 2, 1))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_network_takes_lists_and_tensors(framework: str) -> None:
    pytest.importorskip(d5.framework(framework).module_name)
    target = d5.framework(framework)
    for form in FORMS:
        executor = target.executor(network_of(form, np.array([0, -1, -2])))
        for x in (X, X.tolist(), X.astype("float64")):
            y = target.array(executor.inference({"x": x})["y"])
            np.testing.assert_array_equal(y, X.sum((1, 2), keepdims=True))


def test_what_is_written_is_the_same_in_every_form() -> None:
    pytest.importorskip("onnx")
    models = [
        network_of(form, [0, -1, 1]).to_onnx().SerializeToString() for form in FORMS
    ]
    assert len({*models}) == 1
    again = d5.Network.from_onnx(models[0])
    assert again.node("Transpose").operator == d5.operators.Transpose(perm=[0, 2, 1])
    assert again.node("ReduceSum").inputs[1] == (2, 1)


def test_a_float_attribute_given_as_an_integer_is_written_as_a_float() -> None:
    onnx = pytest.importorskip("onnx")
    network = d5.Network()
    network.add_node("LeakyRelu", [network.add_input("x", (0, 2))], ["y"], alpha=1)
    network.add_output("y")
    [alpha] = network.to_onnx().graph.node[0].attribute
    assert alpha.type == onnx.AttributeProto.FLOAT


def test_a_numpy_scalar_keeps_its_dtype_in_a_file() -> None:
    pytest.importorskip("onnx")
    from deep500.onnx.writing import _constant

    assert _constant(np.int16(3)).dtype == "int16"
    assert _constant(np.float64(3)).dtype == "float64"
    assert _constant((3, 4)).dtype == "int64"


def test_an_array_where_a_name_is_wanted_is_refused() -> None:
    network = d5.Network()
    x = network.add_input("x", (0, 3))
    with pytest.raises(
        Deep500Error, match=r"the input 'b' of Add is 2.0: give the name of a value"
    ):
        network.add_node("Add", [x, 2.0])
    with pytest.raises(
        Deep500Error, match="'axes' of ReduceSum is .*a list of whole numbers is wanted"
    ):
        network.add_node("ReduceSum", [x, [0.5]])
    assert network.nodes == ()
