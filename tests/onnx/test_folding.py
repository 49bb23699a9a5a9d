"""Static inputs that a file computes from shapes, constants and given inputs."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.errors import Deep500Error, Unsupported
from deep500.formats.onnx import Onnx
from deep500.frameworks import framework

read = Onnx().read


def model_of(
    *nodes: onnx.NodeProto,
    weights: dict[str, Any] | None = None,
    shape: tuple = (2, 3, 4),
    more: tuple[onnx.ValueInfoProto, ...] = (),
) -> onnx.ModelProto:
    initializers = [
        numpy_helper.from_array(np.asarray(v), name)
        for name, v in (weights or {}).items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape), *more],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])],
        initializers,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    )


EXPORTED = (  # what exporters write for x.reshape(x.shape[0], -1)
    helper.make_node("Relu", ["x"], ["r"]),
    helper.make_node("Shape", ["r"], ["s"]),
    helper.make_node("Gather", ["s", "zero"], ["n"]),
    helper.make_node("Concat", ["n", "rest"], ["to"], axis=0),
    helper.make_node("Reshape", ["r", "to"], ["y"]),
)
WEIGHTS = {"zero": np.array([0]), "rest": np.array([-1])}
TO = helper.make_tensor_value_info("to", TensorProto.INT64, (2,))


def test_a_shape_that_is_computed_is_folded() -> None:
    network = read(model_of(*EXPORTED, weights=WEIGHTS))
    assert [type(n.operator).__name__ for n in network.nodes] == ["Relu", "Reshape"]
    assert network.nodes[1].inputs == ("r", (2, -1))
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    np.testing.assert_array_equal(
        framework("reference").executor(network).inference({"x": x})["y"],
        x.reshape(2, 12),
    )


def test_a_folded_value_that_is_also_an_output_stays() -> None:
    model = model_of(*EXPORTED, weights=WEIGHTS)
    model.graph.output.append(
        helper.make_tensor_value_info("to", TensorProto.INT64, (2,))
    )
    assert len(read(model).nodes) == 5


def test_an_open_batch_is_not_known() -> None:
    network = read(model_of(*EXPORTED, weights=WEIGHTS, shape=("n", 3, 4)))
    assert network.nodes[-1].inputs == ("r", "to")


def test_given_inputs_serve_where_constants_are_needed() -> None:
    model = model_of(helper.make_node("Reshape", ["x", "to"], ["y"]), more=(TO,))
    assert read(model).nodes[0].inputs == ("x", "to")
    network = read(model, {"to": np.array([4, 6])})
    assert network.nodes[0].inputs == ("x", (4, 6)) and network.part(network.outputs)[
        1
    ] == ["x"]


def test_what_is_large_is_not_computed_while_reading() -> None:
    """65537 numbers, and what would be 2^60 of them, which a run refuses too."""
    for size in (1 << 16) + 1, 1 << 60:
        network = read(
            model_of(
                helper.make_node("Expand", ["one", "size"], ["to"]),
                helper.make_node("Reshape", ["x", "to"], ["y"]),
                weights={"one": np.array([1]), "size": np.array([size])},
            )
        )
        assert network.nodes[-1].inputs == ("x", "to")
    executor = framework("reference").executor(network)
    with pytest.raises(Unsupported, match="'Expand' .*needs|decides on shapes"):
        executor.inference({"x": np.ones((2, 3, 4), "f4")})


def test_constants_that_do_not_compute_are_one_line() -> None:
    with pytest.raises(
        Deep500Error, match="'Gather' cannot be computed from its constants"
    ):
        read(
            model_of(
                helper.make_node("Gather", ["rest", "far"], ["to"]),
                helper.make_node("Reshape", ["x", "to"], ["y"]),
                weights={**WEIGHTS, "far": np.array([9])},
            )
        )


@pytest.mark.parametrize("k", [np.array(2), np.array([2])])
def test_a_number_may_come_as_an_array_of_one(k: np.ndarray) -> None:
    network = read(
        model_of(helper.make_node("CumSum", ["x", "k"], ["y"]), weights={"k": k})
    )
    assert list(network.nodes[0].inputs) == ["x", 2]


def test_two_numbers_where_one_is_wanted_are_refused() -> None:
    with pytest.raises(
        Deep500Error, match="axis, which is array.*, and a whole number is wanted"
    ):
        read(
            model_of(
                helper.make_node("CumSum", ["x", "k"], ["y"]),
                weights={"k": np.array([0, 1])},
            )
        )


def test_a_type_that_only_constants_tell_is_kept() -> None:
    weights = {
        name: np.array(value, "int32") for name, value in (("a", 0), ("b", 5), ("c", 1))
    }
    network = read(
        model_of(helper.make_node("Range", ["a", "b", "c"], ["y"]), weights=weights)
    )
    found = framework("reference").executor(network).inference({})["y"]
    assert found.dtype == np.int32 and found.tolist() == [0, 1, 2, 3, 4]
