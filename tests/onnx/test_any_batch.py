"""A backward pass as one network for any size of its named dimensions."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import deep500 as d5
from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.onnx.recording.any_batch import any_size_model
from deep500.onnx.recording.size_formulas import SizePlan, fitted

REFERENCE = framework("reference")
Arrays = dict[str, np.ndarray]


def weights(
    network: Network, rng: np.random.Generator, **shapes: tuple[int, ...]
) -> None:
    for name, shape in shapes.items():
        network.add_param(name, (rng.standard_normal(shape) / 3).astype("f4"))


def digits() -> Network:
    return d5.networks.DigitsCnn(channels=(2, 3), hidden=(6, 5)).build(
        (1, 8, 8), 4, seed=1
    )


def normalised() -> Network:
    """Batch statistics: divisors that are the count of elements."""
    network, rng = Network("normalised"), np.random.default_rng(0)
    network.add_input("x", ("batch", 2, 3))
    weights(network, rng, s=(2,), b=(2,), w=(6, 4))
    for name in ("m", "v"):
        network.add_param(name, np.ones(2, "f4"), trainable=False)
    inputs = ("x", "s", "b", "m", "v")
    network.add_node("BatchNormalization", inputs, ["n", "m2", "v2"], training_mode=1)
    network.add_node("MatMul", (network.add_node("Flatten", ("n",)), "w"), ["y"])
    network.add_node(
        "ReduceMean", (network.add_node("Tanh", ("y",)),), ["loss"], keepdims=0
    )
    network.state_updates = {"m": "m2", "v": "v2"}
    network.add_output("loss")
    return network


def recurrent() -> Network:
    network, rng = Network("recurrent"), np.random.default_rng(1)
    network.add_input("x", (5, "batch", 3))
    weights(network, rng, w=(1, 8, 3), r=(1, 8, 2))
    network.add_node("LSTM", ("x", "w", "r"), ["y"], hidden_size=2)
    network.add_node("ReduceMean", ("y",), ["loss"], keepdims=0)
    network.add_output("loss")
    return network


def attentive() -> Network:
    """Two named dimensions, whose product is a size in the graph."""
    network, rng = Network("attentive"), np.random.default_rng(2)
    network.add_input("x", ("batch", "length", 4))
    weights(network, rng, q=(4, 4), k=(4, 4), v=(4, 4), scale=(4,), shift=(4,))
    network.add_node("LayerNormalization", ("x", "scale", "shift"), ["n"])
    parts = [network.add_node("MatMul", ("n", name)) for name in "qkv"]
    turned = network.add_node("Transpose", (parts[1],), perm=(0, 2, 1))
    scores = network.add_node(
        "Softmax", (network.add_node("MatMul", (parts[0], turned)),)
    )
    mixed = network.add_node("MatMul", (scores, parts[2]))
    network.add_node(
        "ReduceMean", (network.add_node("Mul", (mixed, mixed)),), ["loss"], keepdims=0
    )
    network.add_output("loss")
    return network


NETWORKS: dict[str, tuple[Callable[[], Network], dict[str, tuple]]] = {
    "digits": (digits, {"x": ("batch", 1, 8, 8), "label": ("batch",)}),
    "normalised": (normalised, {"x": ("batch", 2, 3)}),
    "recurrent": (recurrent, {"x": (5, "batch", 3)}),
    "attentive": (attentive, {"x": ("batch", "length", 4)}),
}
SIZES = (
    {"batch": 1, "length": 1},
    {"batch": 4, "length": 3},
    {"batch": 11, "length": 6},
)


def drawn(shapes: dict[str, tuple], sizes: dict[str, int]) -> Arrays:
    rng, batch = np.random.default_rng(7), {}
    for name, named in shapes.items():
        shape = tuple(sizes.get(size, size) for size in named)
        batch[name] = rng.standard_normal(shape).astype("f4")
        if name == "label":
            batch[name] = rng.integers(0, 4, shape)
    return batch


def right(network: Network, batch: Arrays) -> Arrays:
    """The loss and the gradients as the reference has them."""
    executor = REFERENCE.executor(network)
    outputs = executor.inference_and_backprop(batch)
    gradients = {f"{name}.grad": g for name, g in executor.gradients.items()}
    return {"loss": outputs["loss"]} | gradients


def assert_right(found: dict, expected: Arrays) -> None:
    for name, value in expected.items():
        np.testing.assert_allclose(
            found[name], value, rtol=2e-4, atol=2e-6, err_msg=name
        )


@pytest.mark.parametrize("name", NETWORKS)
def test_one_network_for_any_size_on_every_engine(name: str, tmp_path: Path) -> None:
    make, shapes = NETWORKS[name]
    network = make()
    backward = network.backward_network("loss")
    assert isinstance(backward, Network)
    assert set(backward.dimensions) == set(network.dimensions)
    backward.to_onnx(tmp_path / "backward.onnx")
    model = onnx.load(tmp_path / "backward.onnx")
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "backward.onnx")
    names = [output.name for output in model.graph.output]
    ours = REFERENCE.executor(Network.from_onnx(model))
    for sizes in SIZES:
        batch = drawn(shapes, sizes)
        expected = right(network, batch)
        feeds = batch | network.params
        assert_right(dict(zip(names, session.run(names, feeds), strict=True)), expected)
        assert_right(ours.inference(feeds), expected)
        if sizes["batch"] == 4:
            evaluator = ReferenceEvaluator(model)
            results = evaluator.run(None, feeds)
            assert_right(dict(zip(names, results, strict=True)), expected)


def test_a_size_that_is_given_is_the_only_one() -> None:
    backward = digits().backward_network("loss", batch=3)
    assert backward.inputs["x"].shape == (3, 1, 8, 8) and not backward.dimensions


def test_random_nodes_draw_for_every_batch() -> None:
    network = Network("dropping")
    network.add_input("x", ("batch", 4))
    network.add_param("w", np.ones((4,), "f4"))
    network.add_node("Mul", ("x", "w"), ["scaled"])
    network.add_node("Dropout", ("scaled", 0.5, True), ["y"], name="drop")
    network.add_node("ReduceSum", ("y",), ["loss"], keepdims=0)
    network.add_output("loss")
    backward = REFERENCE.executor(network.backward_network("loss"))
    for size in (2, 9):
        batch = {"x": np.ones((size, 4), "f4")}
        executor = REFERENCE.executor(network)
        feeds = {**executor.keyed(batch), **network.params}
        assert_right(backward.inference(feeds), right(network, batch))


def constant_model(value: np.ndarray) -> onnx.ModelProto:
    """x + a constant."""
    tensor = numpy_helper.from_array(value)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=tensor),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    x, y = (helper.make_tensor_value_info(name, kind, [5]) for name in "xy")
    graph = helper.make_graph(nodes, "constant", [x], [y])
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize(
    "formula", [lambda n: n * n, lambda n: n // 2, lambda n: n % 3]
)
def test_a_number_that_follows_no_formula_is_refused(
    formula: Callable[[int], int],
) -> None:
    def record(sizes: dict[str, int]) -> onnx.ModelProto:
        return constant_model(np.array([formula(sizes["batch"])], np.int64))

    with pytest.raises(Unsupported, match="no simple formula: give batch="):
        any_size_model(record, {"x": TensorSpec(("batch",), "int64")})


def test_a_graph_of_other_nodes_is_refused() -> None:
    def record(sizes: dict[str, int]) -> onnx.ModelProto:
        model = constant_model(np.ones(1, "f4"))
        if sizes["batch"] > 11:
            model.graph.node[1].op_type = "Sub"
        return model

    with pytest.raises(Unsupported, match="other nodes for other sizes: give batch="):
        any_size_model(record, {"x": TensorSpec(("batch",))})


def test_formulas_of_two_sizes() -> None:
    plan = SizePlan(("a", "b"))
    values = [np.array([3 * a * b + 2 * a - 7, b]) for a, b in plan.points]
    assert list(fitted(plan, values).at({"a": 100, "b": 10})) == [3193, 10]
    means = [np.array(1 / (a * b), "f4") for a, b in plan.points]
    assert abs(float(fitted(plan, means).at({"a": 4, "b": 2})) - 0.125) < 1e-6
    assert fitted(plan, [np.array(a * a) for a, b in plan.points]) is None
