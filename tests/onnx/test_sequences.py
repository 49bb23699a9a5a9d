"""Sequences, optionals and functions of the model's own: they come to an end while a file is read."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.errors import Deep500Error, Unsupported
from deep500.formats.onnx import Onnx
from deep500.frameworks import framework

read = Onnx().read

node = helper.make_node
X = np.arange(12, dtype="f4").reshape(3, 4)


def model_of(
    *nodes: onnx.NodeProto,
    rank: int = 2,
    weights: Mapping[str, Any] | None = None,
    kind: int = TensorProto.FLOAT,
    opset: int = 17,
) -> onnx.ModelProto:
    arrays = [
        numpy_helper.from_array(np.asarray(v), name)
        for name, v in (weights or {}).items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (3, 4))],
        [helper.make_tensor_value_info("y", kind, [f"n{i}" for i in range(rank)])],
        arrays,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )


def result(model: onnx.ModelProto) -> np.ndarray:
    return framework("reference").executor(read(model)).inference({"x": X})["y"]


PARTS = (
    node("Neg", ["x"], ["n"]),
    node("Abs", ["n"], ["a"]),
    node("SequenceConstruct", ["x", "n"], ["s"]),
)
AT = node("SequenceAt", ["t", "at"], ["y"])
MAPPED = helper.make_graph(
    [node("Add", ["e", "x"], ["r"])],
    "body",
    [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)],
    [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
)
RIGHT = {
    "insert at the end": (
        (*PARTS, node("SequenceInsert", ["s", "a"], ["t"]), AT),
        {"at": np.asarray(2)},
        X,
    ),
    "insert in front": (
        (*PARTS, node("SequenceInsert", ["s", "a", "zero"], ["t"]), AT),
        {"at": np.asarray(-1), "zero": np.asarray(0)},
        -X,
    ),
    "erase": (
        (*PARTS, node("SequenceErase", ["s", "zero"], ["t"]), AT),
        {"at": np.asarray(0), "zero": np.asarray(0)},
        -X,
    ),
    "empty": (
        (
            node("SequenceEmpty", [], ["e"]),
            node("SequenceInsert", ["e", "x"], ["t"]),
            AT,
        ),
        {"at": np.asarray(0)},
        X,
    ),
    "joined": (
        (*PARTS, node("ConcatFromSequence", ["s"], ["y"], axis=1)),
        {},
        np.concatenate([X, -X], 1),
    ),
    "stacked": (
        (*PARTS, node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)),
        {},
        np.stack([X, -X], -1),
    ),
    "split by sizes": (
        (node("SplitToSequence", ["x", "sizes"], ["t"], axis=1), AT),
        {"sizes": np.array([1, 3]), "at": np.asarray(1)},
        X[:, 1:],
    ),
    "split into chunks": (
        (node("SplitToSequence", ["x", "two"], ["t"]), AT),
        {"two": np.asarray(2), "at": np.asarray(1)},
        X[2:],
    ),
    "split into rows": (
        (node("SplitToSequence", ["x"], ["t"], keepdims=0), AT),
        {"at": np.asarray(1)},
        X[1],
    ),
    "mapped": (
        (*PARTS, node("SequenceMap", ["s"], ["t"], body=MAPPED), AT),
        {"at": np.asarray(0)},
        2 * X,
    ),
    "handed on": (
        (*PARTS, node("Identity", ["s"], ["t"]), AT),
        {"at": np.asarray(1)},
        -X,
    ),
    "optional": (
        (node("Optional", ["x"], ["o"]), node("OptionalGetElement", ["o"], ["y"])),
        {},
        X,
    ),
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_done_with_sequences_is_done_while_reading(case: str) -> None:
    nodes, weights, want = RIGHT[case]
    model = model_of(*nodes, rank=want.ndim, weights=weights)
    np.testing.assert_array_equal(result(model), want)
    session = framework("onnxruntime").session(model)  # type: ignore[attr-defined]
    # as ONNX Runtime reads it
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], want)


def test_a_length_and_an_optional_are_constants() -> None:
    length = model_of(
        *PARTS, node("SequenceLength", ["s"], ["y"]), rank=0, kind=TensorProto.INT64
    )
    assert result(length) == 2 and read(length).trainable == []
    for inputs, there in (["o"], True), ([""], False):
        has = node("OptionalHasElement", inputs, ["y"])
        model = model_of(
            node("Optional", ["x"], ["o"]), has, rank=0, kind=TensorProto.BOOL, opset=18
        )
        assert result(model) == there


@pytest.mark.parametrize(
    ("nodes", "text"),
    [
        ((*PARTS, node("SequenceAt", ["s", "x"], ["y"])), "which only a run brings"),
        (
            (*PARTS, node("SequenceAt", ["s", "far"], ["y"])),
            "place 7 of a sequence of 2",
        ),
        (
            (
                node("SequenceEmpty", [], ["s"]),
                node("ConcatFromSequence", ["s"], ["y"], axis=0),
            ),
            "an empty sequence",
        ),
        ((*PARTS, node("Neg", ["s"], ["y"])), "sequence 's', and Neg|no valid ONNX"),
        ((node("SequenceAt", ["x", "far"], ["y"]),), "'x' as a sequence|no valid ONNX"),
    ],
)
def test_what_cannot_be_followed_is_said(nodes: tuple, text: str) -> None:
    with pytest.raises(Deep500Error, match=text) as error:
        read(model_of(*nodes, weights={"far": np.asarray(7)}))
    assert "\n" not in str(error.value)


def test_a_sequence_does_not_leave_a_network() -> None:
    model = model_of(*PARTS)
    model.graph.output[0].CopyFrom(
        helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    )
    with pytest.raises(Unsupported, match="'s' is no tensor"):
        read(model)


def with_functions(*functions: onnx.FunctionProto, calls: str) -> onnx.ModelProto:
    model = model_of(node(calls, ["x"], ["y"], domain="own"))
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.functions.extend(functions)
    return model


def function(name: str, *nodes: onnx.NodeProto) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)


def test_functions_of_the_models_own_are_written_out() -> None:
    twice = function("Twice", node("Add", ["a", "a"], ["b"]))
    four = function(
        "Four",
        node("Twice", ["a"], ["c"], domain="own"),
        node("Twice", ["c"], ["b"], domain="own"),
    )
    np.testing.assert_array_equal(
        result(with_functions(twice, four, calls="Four")), 4 * X
    )


def test_functions_that_grow_without_end_are_refused() -> None:
    """Each calls the next twice: 2^40 nodes."""
    chain = [
        function(
            f"F{i}",
            *(node(f"F{i + 1}", [a], [b], domain="own") for a, b in ("ac", "cb")),
        )
        for i in range(40)
    ]
    with pytest.raises(Unsupported, match="3298534883327 nodes"):
        read(
            with_functions(
                *chain, function("F40", node("Neg", ["a"], ["b"])), calls="F0"
            )
        )
    with pytest.raises(Deep500Error, match="call themselves"):
        read(
            with_functions(
                function("F", node("F", ["a"], ["b"], domain="own")), calls="F"
            )
        )
