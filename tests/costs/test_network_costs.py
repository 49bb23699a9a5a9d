"""Costs of networks: counted by hand for small ones, and predicted memory against what allocators hand out."""

import tracemalloc

import numpy as np
import pytest

import deep500 as d5
from deep500.bench.networks.measured_memory import measured_inference, measured_training
from deep500.costs.abstract_arrays import Meter, new
from deep500.costs.abstract_namespace import AbstractNamespace
from deep500.costs.examples import random_inputs
from deep500.costs.memory import inference_memory, training_memory
from deep500.costs.shapes import input_tensors
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.frameworks.reference.namespace import NumpyNamespace
from deep500.networks import DigitsCnn, Mlp


def chain() -> d5.Network:
    """y = relu(x w), with 3 x 4 weights."""
    network = d5.Network("chain")
    network.add_input("x", (0, 3))
    network.add_param("w", np.ones((3, 4), "float32"))
    network.add_node("MatMul", ("x", "w"), ["h"], name="product")
    network.add_node("Relu", ("h",), ["y"], name="relu")
    network.add_output("y")
    return network


def test_a_chain_counted_by_hand():
    costs = d5.network_costs(chain(), batch=2)
    product, relu = costs.nodes
    assert (product.flops, relu.flops) == (2 * 2 * 3 * 4, 2 * 4)
    assert product.bytes_moved == 4 * (2 * 3 + 3 * 4 + 2 * 4)
    assert costs.parameters == product.parameters == 12
    assert costs.depth == 1 + 2 + 1  # a product, a tree over three, the relu
    assert costs.parallelism == costs.flops / 4
    # w, x, h and y, while the relu runs
    assert costs.inference.peak == 4 * (12 + 6 + 8 + 8)
    assert costs.training is None


def test_values_are_freed_when_nobody_needs_them():
    network = chain()
    for i in range(5):
        last = network.outputs[0]
        network.outputs = [network.add_node("Relu", (last,), [f"y{i}"])]
    costs = d5.network_costs(network, batch=2)
    assert costs.inference.peak == 4 * (12 + 6 + 8 + 8)


def test_what_a_derivative_wants_is_kept():
    network = Mlp(hidden=(8,)).build((4,), 3)
    nodes = {node.name: node for node in d5.network_costs(network, batch=2).nodes}
    assert nodes["fc1.relu"].memory.kept == 4 * 2 * 8  # its result
    assert nodes["logits"].memory.kept == 4 * 2 * 8  # its input, the same memory


def test_recurrence_is_deep_and_elementwise_is_not():
    def depth_for(length: int) -> int:
        network = d5.Network()
        network.add_input("x", (length, 2, 4))
        network.add_param("w", np.ones((1, 4, 4), "float32"))
        network.add_param("r", np.ones((1, 4, 4), "float32"))
        network.add_node("RNN", ("x", "w", "r"), ["y"], hidden_size=4)
        network.add_output("y")
        return d5.network_costs(network).depth

    assert depth_for(20) - depth_for(10) == depth_for(30) - depth_for(20) > 10


def test_a_shared_parameter_counts_once():
    network = chain()
    network.add_node("MatMul", ("x", "w"), ["again"])
    network.add_output("again")
    costs = d5.network_costs(network, batch=2)
    assert costs.parameters == sum(node.parameters for node in costs.nodes) == 12


@pytest.mark.parametrize(
    ("operator", "shapes"),
    [
        (d5.operators.Softmax(), [(500, 500)]),
        (d5.operators.LayerNormalization(), [(500, 500), (500,), (500,)]),
        (
            d5.operators.Conv(pads=(1, 1, 1, 1)),
            [(8, 16, 32, 32), (32, 16, 3, 3), (32,)],
        ),
        (d5.operators.Gemm(transB=1), [(500, 400), (600, 400), (600,)]),
        (
            d5.operators.BatchNormalization(training_mode=1),
            [(8, 16, 64, 64), *[(16,)] * 4],
        ),
    ],
)
def test_abstract_arrays_take_the_bytes_that_numpy_takes(operator, shapes):
    def run(xp, inputs):
        results = operator.run(xp, *inputs)
        seeds = [xp.zeros_like(y) for y in operator.published(results)]
        return operator.gradients(xp, seeds, inputs, results)

    meter = Meter()
    inputs = [new(meter, shape, "float32") for shape in shapes]
    begin = meter.level
    run(AbstractNamespace(meter), inputs)
    arrays = [np.ones(shape, "float32") for shape in shapes]
    run(NumpyNamespace(), arrays)
    tracemalloc.start()
    run(NumpyNamespace(), arrays)
    measured = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (meter.peak - begin) / measured == pytest.approx(1, abs=0.02)


NETWORKS = {
    "mlp": lambda: Mlp(hidden=(256, 256)).build((784,), 10),
    "cnn": lambda: DigitsCnn(channels=(8, 16)).build((3, 32, 32), 10),
}


@pytest.mark.parametrize("engine", ["reference", "pytorch"])
@pytest.mark.parametrize("name", NETWORKS)
def test_predicted_memory_is_near_the_measured(name, engine):
    network, own = NETWORKS[name](), framework(engine)
    tensors = input_tensors(network, 32)
    inputs = random_inputs(network, tensors)
    adam = d5.optimizers.Adam()
    training = training_memory(network, tensors, own, adam).peak
    assert training / measured_training(own, network, inputs, adam) == pytest.approx(
        1, abs=0.2
    )
    inference = inference_memory(network, tensors, own).peak
    assert inference / measured_inference(own, network, inputs) == pytest.approx(
        1, abs=0.2
    )


def test_memory_that_is_not_freed_is_seen():
    """A prediction that forgets to free would be far off: so is one that is compared with another batch."""
    network, own = NETWORKS["mlp"](), framework("reference")
    tensors = input_tensors(network, 512)
    inputs = random_inputs(network, input_tensors(network, 32))
    measured = measured_training(
        own, network, inputs, d5.optimizers.SGD(learning_rate=0.1)
    )
    predicted = training_memory(
        network, tensors, own, d5.optimizers.SGD(learning_rate=0.1)
    ).peak
    assert predicted > 1.2 * measured


def test_inputs_index_only_what_there_is():
    network = d5.Network()
    network.add_input("tokens", (0, 5), "int64")
    network.add_input("label", (0,), "int64")
    network.add_param("table", np.ones((7, 3), "float32"))
    flat = network.add_node("Reshape", ("tokens", (-1,)))
    network.add_node("Gather", ("table", flat), ["rows"])
    network.add_output("rows")
    network.add_node("Gather", ("table", "label"), ["chosen"], axis=1)
    network.add_output("chosen")
    inputs = random_inputs(network, input_tensors(network, 200))
    assert inputs["tokens"].max() == 6
    assert inputs["label"].max() == 2


def test_an_empty_batch_is_refused():
    with pytest.raises(Deep500Error, match="a batch of 0"):
        d5.network_costs(chain(), batch=0)


def test_a_dimension_without_a_size_is_named():
    network = d5.Network()
    network.add_input("x", ("batch", "length"))
    network.add_output(network.add_node("Relu", ("x",)))
    with pytest.raises(Deep500Error, match="'length' has no size.* --set length=64"):
        d5.network_costs(network)
    assert d5.network_costs(network, batch=3, sizes={"length": 5}).flops == 15


@pytest.mark.parametrize("engine", ["reference", "pytorch"])
def test_an_executor_times_its_operators_on_request(engine):
    network = NETWORKS["cnn"]()
    inputs = random_inputs(network, input_tensors(network, 2))
    executor = framework(engine).executor(network)
    times = executor.operator_times(inputs, training=True, rounds=3)
    forward = [t.node for t in times if t.direction == "forward"]
    assert forward == [node.name for node in network.ordered()]
    assert {t.node for t in times if t.direction == "backward"} == set(forward)
    assert {t.kernel for t in times} == (
        {"composed"} if engine == "reference" else {"native"}
    )
    assert all(len(t.ns) == 3 and min(t.ns) > 0 for t in times)


def test_a_batch_that_is_no_whole_number_is_refused() -> None:
    network = d5.networks.Mlp(hidden=(3,)).build((4,), 2)
    with pytest.raises(Deep500Error, match="a batch of 'two': give a whole number"):
        d5.network_costs(network, batch="two")  # type: ignore[arg-type]
