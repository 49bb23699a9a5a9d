"""The network contract: nodes and edges come and go, values are fed and fetched, and errors name what there is."""

from dataclasses import replace

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.network import KEY, Network, take_keys
from deep500.contracts.operator import Operator, TensorSpec
from deep500.errors import Deep500Error
from deep500.frameworks import framework


def affine() -> Network:
    """y = x W + b, through Gemm, and the sum of y as the loss."""
    network = Network("affine")
    network.add_input("x", (0, 2))
    network.add_param("w", np.asarray([[1, 2, 3], [4, 5, 6]], "float32"))
    network.add_param("b", np.asarray([10, 20, 30], "float32"))
    network.add_param("scale", np.asarray(2, "float32"), trainable=False)
    network.add_node("Gemm", ["x", "w", "b"], ["y"], name="product")
    network.add_node("ReduceSum", ["y"], ["loss"], name="total", keepdims=0)
    for name in ("y", "loss"):
        network.add_output(name)
    return network


X = np.asarray([[1, 1], [0, 2]], "float32")
PRODUCT = X @ affine().params["w"]
BIAS = np.asarray([10, 20, 30])


def result(network: Network, output: str = "y") -> np.ndarray:
    return framework("reference").executor(network).inference({"x": X})[output]


def test_an_edge_feeds_another_value() -> None:
    network = affine()
    network.add_param("other", np.asarray([1, 1, 1], "float32"))
    network.add_edge("other", "product", 2)
    assert network.node("product").inputs == ("x", "w", "other")
    assert np.array_equal(result(network), PRODUCT + 1)


def test_an_edge_goes_and_comes_back() -> None:
    network = affine()
    network.remove_edge("product", 2)
    assert network.node("product").inputs == ("x", "w", None)
    assert np.array_equal(result(network), PRODUCT)
    network.add_edge("b", "product", 2)
    assert np.array_equal(result(network), PRODUCT + BIAS)


def test_rewiring_touches_one_node() -> None:
    network = affine()
    before = network.nodes
    network.remove_edge("product", 2)
    assert network.nodes[1] is before[1] and [n.name for n in network.nodes] == [
        "product",
        "total",
    ]
    assert network.node("product").operator == before[0].operator
    assert network.node("product").outputs == ("y",)


def test_an_edge_that_cannot_be_is_refused() -> None:
    network = affine()
    before = network.nodes
    with pytest.raises(
        Deep500Error, match="no value is named 'c'; there are: b, loss, scale, w, x, y"
    ):
        network.add_edge("c", "product", 2)
    with pytest.raises(
        Deep500Error, match="no node is named 'sum'; there are: product, total"
    ):
        network.add_edge("b", "sum", 0)
    with pytest.raises(Deep500Error, match="node 'product' has inputs 0 to 2, not 3"):
        network.add_edge("b", "product", 3)
    with pytest.raises(Deep500Error, match="node 'product' has inputs 0 to 2, not -1"):
        network.remove_edge("product", -1)
    assert network.nodes == before


def test_a_cycle_is_refused() -> None:
    network = affine()
    before = network.nodes
    with pytest.raises(
        Deep500Error, match="node 'product' cannot take 'loss'.*a cycle"
    ):
        network.add_edge("loss", "product", 2)
    assert network.nodes == before


def test_a_cycle_among_nodes_that_come_all_at_once_is_found_when_they_are_ordered() -> (
    None
):
    network = affine()
    product, total = network.nodes
    network.nodes = [replace(product, inputs=("x", "w", "loss")), total]
    with pytest.raises(
        Deep500Error, match="node 'product' needs 'loss', which nothing makes"
    ):
        network.ordered()


def test_a_node_goes_and_another_takes_its_place() -> None:
    network = affine()
    gone = network.remove_node("product")
    assert gone.name == "product" and [n.name for n in network.nodes] == ["total"]
    with pytest.raises(
        Deep500Error, match="node 'total' needs 'y', which nothing makes"
    ):
        network.ordered()
    network.add_node("MatMul", ["x", "w"], ["y"])
    assert [n.name for n in network.ordered()] == ["MatMul", "total"]
    assert np.array_equal(result(network), PRODUCT)
    with pytest.raises(
        Deep500Error, match="no node is named 'product'; there are: total, MatMul"
    ):
        network.remove_node("product")


def test_a_node_is_an_operator_or_its_name_and_gets_free_names() -> None:
    network = affine()
    first = network.add_node("LeakyRelu", ["y"], alpha=0.5)
    second = network.add_node(d5.operators.LeakyRelu(alpha=0.5), ["y"])
    assert (first, second) == ("LeakyRelu.y", "LeakyRelu_1.y")
    assert network.nodes[-1].operator == network.nodes[-2].operator
    with pytest.raises(Deep500Error, match="no value is named 'z'"):
        network.add_node("Relu", ["z"])
    with pytest.raises(Deep500Error, match="the name 'y' is taken"):
        network.add_node("Relu", ["x"], ["y"])
    with pytest.raises(
        Deep500Error, match="no operator is named 'Rely'. Did you mean 'Relu'?"
    ):
        network.add_node("Rely", ["x"])
    with pytest.raises(Deep500Error, match="the name 'product' is taken: every node"):
        network.add_node("Relu", ["x"], name="product")


def test_every_value_has_its_own_name() -> None:
    network = affine()
    with pytest.raises(Deep500Error, match="the name 'y' is taken"):
        network.add_input("y", (0,))
    with pytest.raises(Deep500Error, match="the name 'y' is taken"):
        network.add_param("y", np.zeros(1))
    with pytest.raises(Deep500Error, match="no value is named 'z'"):
        network.add_output("z")


def test_parameters_are_fed_and_fetched() -> None:
    network = affine()
    # integers become the parameter's float32
    network.feed_tensor("b", np.asarray([1, 2, 3]))
    (b, w) = network.fetch_tensors(["b", "w"])
    assert (
        b.dtype == np.float32 and b.tolist() == [1, 2, 3] and w is network.params["w"]
    )
    assert np.array_equal(result(network), PRODUCT + BIAS / 10)
    with pytest.raises(
        Deep500Error, match="no parameter is named 'c'; there are: w, b, scale"
    ):
        network.feed_tensor("c", b)
    with pytest.raises(
        Deep500Error, match=r"the parameter 'b' has the shape \(3,\), not \(2,\)"
    ):
        network.feed_tensor("b", np.zeros(2))
    with pytest.raises(
        Deep500Error, match="no parameter is named 'x'; there are: w, b, scale"
    ):
        network.fetch_tensors(["w", "x"])


def test_gradients_have_names_for_what_is_trained() -> None:
    network = affine()
    assert network.get_params() == ["w", "b"]
    assert network.gradient() == [("w", "w.grad"), ("b", "b.grad")]
    with pytest.raises(
        Deep500Error, match="no value is named 'cost'; there are: b, loss"
    ):
        network.gradient("cost")


def test_a_copy_changes_by_itself() -> None:
    network = affine()
    twin = network.copy()
    twin.remove_edge("product", 2)
    twin.params["w"][:] = 0
    twin.add_param("extra", np.zeros(1, "float32"))
    assert network.node("product").inputs[2] == "b" and "extra" not in network.params
    assert np.array_equal(result(network), PRODUCT + BIAS)


def test_a_part_is_what_its_outputs_need() -> None:
    network = affine()
    network.add_input("label", (0,), "int64")
    network.add_node("Identity", ["label"], ["echo"])
    network.add_output("echo")
    nodes, inputs = network.part(["y"])
    assert [n.name for n in nodes] == ["product"] and inputs == ["x"]
    assert network.computable(["x"]) == ["y", "loss"]
    with pytest.raises(Deep500Error, match="needs x, label, and these came: none"):
        network.computable([])


def test_keys_of_random_nodes_become_inputs() -> None:
    network = affine()
    network.add_node("Dropout", ["y"], ["masked"], name="drop")
    keys = take_keys(network)
    assert list(keys) == [f"{KEY}drop"] and keys[f"{KEY}drop"].random
    assert network.inputs[f"{KEY}drop"].dtype == "int64"
    assert network.node("drop").inputs == ("y", None, None, f"{KEY}drop")


def test_an_operator_without_inputs_can_be_a_node() -> None:
    class Two(Operator):
        domain = "test"

        def forward(self, xp):
            return xp.asarray(2, "float32")

        def infer(self) -> tuple[TensorSpec, ...]:
            return (TensorSpec(()),)

    network = affine()
    network.add_output(network.add_node(Two(), [], ["two"]))
    assert result(network, "two") == 2
    with pytest.raises(Deep500Error, match="node 'Two' has no inputs"):
        network.remove_edge("Two", 0)
