"""A weight that an exporter has written twice is one weight again; two weights that were never one stay two."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.contracts.network import Network
from deep500.onnx.roles import KIND

TABLE = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")


def language_model(
    head: np.ndarray, marked: tuple[str, ...] = ("table",)
) -> onnx.ModelProto:
    """An embedding of tokens, and scores of all tokens by the weight `head`."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("MatMul", ["rows", "head"], ["y"]),
    ]
    weights = [
        numpy_helper.from_array(TABLE, "table"),
        numpy_helper.from_array(head, "head"),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 5])
    graph = helper.make_graph(nodes, "g", [ids], [y], weights)
    for name in marked:
        graph.value_info.add(name=name).metadata_props.add(key=KIND, value="PARAMETER")
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_a_transposed_copy_is_the_original_again() -> None:
    network = Network.from_onnx(language_model(TABLE.T.copy()))
    assert network.trainable == ["table"] and list(network.params) == ["table"]
    assert "one weight again" in network.remarks[0]
    network.feed_tensor("table", 2 * TABLE)
    assert [type(n.operator).__name__ for n in network.ordered()] == [
        "Transpose",
        "Gather",
        "MatMul",
    ]


@pytest.mark.parametrize(
    ("head", "marked"),
    [
        (TABLE.T + np.float32(1e-7), ("table",)),  # nearly the same
        (
            TABLE.T.copy(),
            ("table", "head"),
        ),  # a parameter of its own, which starts at the same values
        (TABLE.T.copy(), ()),  # nothing says which one is the original
    ],
)
def test_two_weights_stay_two(head: np.ndarray, marked: tuple[str, ...]) -> None:
    network = Network.from_onnx(language_model(head, marked))
    assert network.trainable == ["table", "head"] and not network.remarks
