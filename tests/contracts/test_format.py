"""The format contract: networks reach a format through the registry, and a new format is one file."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500 import registry
from deep500.contracts.format import Format
from deep500.contracts.network import Network
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error, Unsupported
from deep500.formats.onnx import Onnx

onnx = pytest.importorskip("onnx")


class Notes(Format):
    """A format that only remembers what it was asked for."""

    extra = "notes"

    def read(
        self, source: Any, given: Mapping[str, np.ndarray] | None = None
    ) -> Network:
        return Network(f"{source} {sorted(given or {})}")


def test_formats_are_found_by_name() -> None:
    assert registry.find("formats", "Onnx") is Onnx and "Onnx" in registry.known(
        "formats"
    )
    with pytest.raises(
        Deep500Error, match="no format is named 'Onyx'. Did you mean 'Onnx'?"
    ):
        registry.find("formats", "Onyx")


def test_a_network_is_read_and_written_by_the_format(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = d5.networks.Mlp(hidden=(3,)).build((4,), 2)
    model = network.to_onnx()
    assert isinstance(model, onnx.ModelProto)
    assert Onnx().write(network).SerializeToString() == model.SerializeToString()
    assert (
        Network.from_onnx(model).trainable
        == Onnx().read(model).trainable
        == network.trainable
    )
    monkeypatch.setattr(registry, "find", lambda kind, name: Notes)
    assert Network.from_onnx("a.txt").name == "a.txt []"
    with pytest.raises(Unsupported, match="Notes has no form for a backward pass"):
        network.backward_network()


def test_a_missing_package_is_named_with_its_extra() -> None:
    Notes().require("json")
    with pytest.raises(
        Unsupported,
        match=r"absent is not installed: pip install 'deep500-bench\[notes\]'",
    ):
        Notes().require("json", "absent")


def test_what_evaluates_constants_is_handed_in() -> None:
    from deep500.onnx.files import read

    calls: list[str] = []

    def evaluate(operator: Operator, inputs: Any) -> list[np.ndarray]:
        calls.append(type(operator).__name__)
        return [np.asarray([3, 2], np.int64)]  # wrong on purpose: reading must take it

    helper = onnx.helper
    nodes = [
        helper.make_node("Add", ["a", "b"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constant = onnx.numpy_helper.from_array
    graph = helper.make_graph(
        nodes,
        "folded",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (2, 3))],
        [
            helper.make_tensor_value_info(
                "y", onnx.TensorProto.FLOAT, ("rows", "columns")
            )
        ],
        [constant(np.asarray([1, 1]), "a"), constant(np.asarray([5, 0]), "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert read(model, evaluate).nodes[-1].inputs == ("x", (3, 2))
    assert calls == ["Add"]
    assert Onnx().read(model).nodes[-1].inputs == ("x", (6, 1))


def test_an_evaluator_that_fails_gives_one_line() -> None:
    from deep500.graph.folding import Folding

    network = Network()
    network.add_param("a", np.asarray([1]))
    network.add_node("Neg", ["a"], ["b"], name="negated")

    def evaluate(operator: Operator, inputs: Any) -> list[np.ndarray]:
        raise ValueError("no such kernel")

    folding = Folding({}, network.params, {}, evaluate)
    folding.add(network.nodes[0])
    with pytest.raises(
        Deep500Error, match="'negated' cannot be computed .*: no such kernel"
    ):
        folding.value("b")
