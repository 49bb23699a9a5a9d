"""Every transformation: what it changes, what it leaves, and that the network computes the same."""

from collections import Counter

import numpy as np
import pytest

import deep500 as d5
from deep500.networks import GPT, DigitsCnn, GoogLeNet, Mlp, MobileNetV2, ResNet
from deep500.transformations import (
    CommonSubexpressions,
    ConstantFolding,
    DeadNodes,
    EvaluationMode,
    FoldBatchNorm,
    ReplaceOperator,
    SplitBatch,
)

from .equivalence import assert_equivalent, passes_the_check

ANY = [ConstantFolding(), DeadNodes(), CommonSubexpressions()]
each = pytest.mark.parametrize("transformation", ANY, ids=str)


def tiny(kind: type) -> d5.Network:
    settings, shape, outputs = kind.tiny  # type: ignore[attr-defined]
    return kind(**settings).build(shape, outputs, seed=1, dtype="float64")


def operators(network: d5.Network) -> Counter[str]:
    return Counter(type(node.operator).__name__ for node in network.nodes)


def same_structure(one: d5.Network, other: d5.Network) -> bool:
    return one.nodes == other.nodes and one.params.keys() == other.params.keys()


def scaled_sum() -> d5.Network:
    """x * (2 * factor) + w, and w again, with spare nodes: something for every transformation."""
    network = d5.Network("scaled sum")
    network.add_input("x", (0, 3), "float64")
    network.add_param("w", np.array([1.0, -2.0, 0.5], "float64"))
    network.add_param("two", np.array(2, "float64"), trainable=False)
    network.add_param("factor", np.array(1.5, "float64"), trainable=False)
    product = network.add_node("Mul", ("two", "factor"), ["product"])
    network.add_node("Exp", (product,), ["unused"])
    scaled = network.add_node("Mul", ("x", product), ["scaled"])
    again = network.add_node("Mul", ("x", product), ["again"])
    total = network.add_node("Add", (scaled, again), ["total"])
    moved = network.add_node("Add", (total, "w"), ["moved"])
    network.add_node(
        "ReduceMean", (network.add_node("Tanh", (moved,)),), ["loss"], keepdims=0
    )
    network.add_output("loss")
    return network


@each
def test_one_example_by_hand(transformation) -> None:
    network = scaled_sum()
    after = transformation(network)
    assert len(after.nodes) < len(network.nodes) == 8
    assert same_structure(network, scaled_sum())  # the original stays as it is
    assert_equivalent(network, after)
    again = transformation(after)
    assert same_structure(again, after)


def test_folding_computes_what_is_constant_and_nothing_trained() -> None:
    network = scaled_sum()
    after = ConstantFolding()(network)
    assert after.params["product"] == 3 and "product" not in after.trainable
    assert "two" not in after.params and after.trainable == ["w"]
    network.trainable.append("factor")
    assert same_structure(ConstantFolding()(network), network)


def test_folding_knows_shapes() -> None:
    network = d5.Network()
    network.add_input("x", (4, 6))
    sizes = network.add_node("Shape", ("x",))
    network.add_output(network.add_node("Cast", (sizes,), ["y"], to=1))
    network.add_output(network.add_node("Size", ("x",)))
    after = ConstantFolding()(network)
    # the outputs themselves stay nodes
    assert operators(after) == {"Cast": 1, "Size": 1}
    assert list(after.params[str(after.nodes[0].inputs[0])]) == [4, 6]


def test_folding_leaves_what_is_random_large_or_different_in_training() -> None:
    network = d5.Network()
    network.add_param("ones", np.ones(4, "float64"), trainable=False)
    noise = network.add_node("RandomUniformLike", ("ones",))
    dropped = network.add_node("Dropout", ("ones", 0.5, True))
    large = network.add_node("Expand", ("ones", (1 << 19, 4)))
    for value in (noise, dropped, large):
        network.add_output(network.add_node("Neg", (value,)))
    assert same_structure(ConstantFolding()(network), network)
    assert operators(ConstantFolding(largest=1 << 21)(network))["Expand"] == 0


def test_dead_nodes_keeps_statistics_and_trained_parameters() -> None:
    network = tiny(ResNet)
    network.add_param("spare", np.ones(3, "float64"))
    network.add_node("Exp", (network.add_node("Neg", ("bn1",)),))
    network.outputs = ["logits"]
    after = DeadNodes()(network)
    assert operators(network) - operators(after) == {
        "Neg": 1,
        "Exp": 1,
        "SoftmaxCrossEntropyLoss": 1,
    }
    assert "spare" in after.trainable and after.state_updates == network.state_updates


def test_equal_constants_are_one_and_equal_trained_parameters_are_two() -> None:
    network = d5.Network()
    network.add_input("x", (0, 2), "float64")
    for name, trainable in {"a": False, "b": False, "c": True, "d": True}.items():
        network.add_param(name, np.ones(2, "float64"), trainable)
    parts = [network.add_node("Mul", ("x", name)) for name in "abcd"]
    network.add_output(network.add_node("Concat", parts, axis=1))
    after = CommonSubexpressions()(network)
    assert operators(after) == {"Mul": 3, "Concat": 1}
    assert set(after.params) == {"a", "c", "d"} and after.trainable == ["c", "d"]


def test_only_equal_expressions_are_one() -> None:
    network = d5.Network()
    network.add_input("x", (0, 2), "float64")
    network.add_param("zero", np.array([0.0], "float64"), trainable=False)
    network.add_param("negative_zero", np.array([-0.0], "float64"), trainable=False)
    parts = [network.add_node("Div", ("x", name)) for name in ("zero", "negative_zero")]
    parts += [
        network.add_node("LeakyRelu", ("x",), alpha=alpha) for alpha in (0.0, -0.0, 0.1)
    ]
    parts += [network.add_node("RandomUniformLike", ("x",)) for _ in range(2)]
    network.add_output(network.add_node("Concat", parts, axis=1))
    assert same_structure(CommonSubexpressions()(network), network)


def trained(network: d5.Network) -> d5.Network:
    """With running statistics, scales and shifts that are not those of the start."""
    rng = np.random.default_rng(3)
    twin = network.copy()
    for name, array in twin.params.items():
        if name.endswith("running_var"):
            twin.params[name] = rng.uniform(0.5, 2, array.shape).astype("float64")
        elif array.ndim == 1:
            twin.params[name] = array + 0.3 * rng.standard_normal(array.shape).astype(
                "float64"
            )
    return twin


@pytest.mark.parametrize(
    "kind", [ResNet, GoogLeNet, MobileNetV2], ids=lambda kind: kind.__name__
)
def test_batch_normalisation_becomes_part_of_the_convolution(kind: type) -> None:
    network = trained(tiny(kind))
    evaluation = EvaluationMode()(network)
    assert_equivalent(network, evaluation, gradients=False)
    folded = FoldBatchNorm()(evaluation)
    before, after = operators(evaluation), operators(folded)
    assert after["BatchNormalization"] == 0 and after["Conv"] == before["Conv"] > 0
    assert not any("bn" in name and "running" in name for name in folded.params)
    assert_equivalent(evaluation, folded, gradients=False)


def test_batch_normalisation_in_training_is_left() -> None:
    network = tiny(ResNet)
    assert same_structure(FoldBatchNorm()(network), network)


@pytest.mark.parametrize("spoil", ["another user", "an output", "a shared weight"])
def test_what_cannot_be_folded_is_left(spoil: str) -> None:
    network = EvaluationMode()(tiny(ResNet))
    if spoil == "another user":
        network.add_output(network.add_node("Neg", ("conv1",)))
    elif spoil == "an output":
        network.add_output("conv1")
    else:
        network.add_output(network.add_node("Neg", ("bn1.weight",)))
    after = FoldBatchNorm()(network)
    assert operators(after)["BatchNormalization"] == 1 and "bn1.weight" in after.params
    assert_equivalent(network, after, gradients=False)


def test_every_relu_for_a_custom_operator() -> None:
    class Slope(d5.Operator):
        """Relu, written differently."""

        def forward(self, xp, x):
            return x * xp.astype(x > 0, x.dtype)

        def backward(self, xp, dy, x):
            return dy * xp.astype(x > 0, dy.dtype)

    network = tiny(DigitsCnn)
    after = ReplaceOperator("Relu", Slope())(network)
    assert operators(after)["Slope"] == operators(network)["Relu"] == 4
    assert_equivalent(network, after)
    assert passes_the_check(after, network)


def test_a_python_operator_and_one_made_from_the_old_one() -> None:
    class Rectified(d5.CustomPythonOp):
        def forward(self, inputs):
            return np.maximum(inputs[0], 0)

        def backward(self, grads, inputs, outputs):
            return grads[0] * (inputs[0] > 0)

    def softer(old: d5.Operator) -> d5.Operator:
        return d5.operators.LeakyRelu(alpha=0.0)

    network = tiny(Mlp)
    for new in (Rectified(), softer):
        assert_equivalent(network, ReplaceOperator("Relu", new)(network), examples=3)


def test_an_operator_that_does_not_fit_is_refused() -> None:
    network = tiny(DigitsCnn)
    for new in (d5.operators.Flatten(), d5.operators.Shape()):
        with pytest.raises(
            d5.Deep500Error, match=r"'conv1.relu' would be .* with the new operator"
        ):
            ReplaceOperator("Relu", new)(network)
    with pytest.raises(
        d5.Deep500Error, match="no node has the operator 'Rellu'; there are: Conv,"
    ):
        ReplaceOperator("Rellu", d5.operators.Relu())(network)
    with pytest.raises(d5.Deep500Error, match="takes 1 inputs"):
        ReplaceOperator("Conv", d5.operators.Relu())(network)


@pytest.mark.parametrize(("size", "parts"), [(1, 7), (2, 4), (3, 3), (6, 2)])
def test_a_node_for_parts_of_the_batch(size: int, parts: int) -> None:
    network = tiny(DigitsCnn)
    after = SplitBatch("conv2", size, batch=7)(network)
    assert operators(after) - operators(network) == {
        "Split": 1,
        "Concat": 1,
        "Conv": parts - 1,
    }
    assert after.trainable == network.trainable
    assert_equivalent(network, after, examples=7)
    assert passes_the_check(after, network, batch=7)


@pytest.mark.parametrize("node", ["conv2.relu.pool", "fc1", "loss"])
def test_other_nodes_for_parts_of_the_batch(node: str) -> None:
    network = tiny(DigitsCnn)
    if node == "loss":
        with pytest.raises(d5.Deep500Error, match="makes 'loss' without a batch"):
            SplitBatch(node, 2, batch=5)(network)
    else:
        assert_equivalent(network, SplitBatch(node, 2, batch=5)(network), examples=5)


def test_a_node_with_two_inputs_of_examples() -> None:
    network = tiny(ResNet)
    node = next(
        node.name for node in network.nodes if type(node.operator).__name__ == "Add"
    )
    after = SplitBatch(node, 4, batch=6)(network)
    assert operators(after) - operators(network) == {"Split": 2, "Concat": 1, "Add": 1}
    assert_equivalent(network, after)


def test_a_batch_that_fits_stays_whole() -> None:
    after = SplitBatch("conv1", 8, batch=8)(tiny(DigitsCnn))
    assert operators(after) == operators(tiny(DigitsCnn))


def test_what_cannot_be_split_is_refused() -> None:
    digits, resnet, gpt = tiny(DigitsCnn), tiny(ResNet), tiny(GPT)
    mistakes = {
        "no node is named 'conv9'; there are: conv1,": (
            SplitBatch("conv9", 2, batch=4),
            digits,
        ),
        "has no fixed size: say it, SplitBatch": (SplitBatch("conv1", 2), digits),
        "BatchNormalization mixes the examples": (
            SplitBatch("bn1", 2, batch=4),
            resnet,
        ),
        "Dropout is random": (SplitBatch("tokens.add.dropout", 2, batch=4), gpt),
        "takes no value with a batch": (SplitBatch("head.weight", 2, batch=4), gpt),
    }
    for message, (transformation, network) in mistakes.items():
        with pytest.raises(d5.Deep500Error, match=message):
            transformation(network)
    with pytest.raises(d5.Deep500Error, match="a micro-batch of 0 examples"):
        SplitBatch("conv1", 0)


def test_another_batch_is_refused_from_then_on() -> None:
    after = SplitBatch("conv1", 2, batch=4)(tiny(DigitsCnn))
    executor = d5.framework("reference").executor(after)
    with pytest.raises(d5.Deep500Error, match="'x'"):
        executor.inference({"x": np.zeros((5, 1, 8, 8), "float64")})
    with pytest.raises(d5.Deep500Error, match="has a batch of 4, not of 8"):
        SplitBatch("conv2", 2, batch=8)(after)
    assert operators(SplitBatch("conv2", 2)(after))["Concat"] == 2
