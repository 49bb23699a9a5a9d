"""Editing a network: what fits is taken, what cannot fit is refused with the names, and nothing is half done."""

import time

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.network import Network
from deep500.contracts.operator import TensorSpec
from deep500.errors import Deep500Error


def test_a_parameter_is_an_array() -> None:
    network = Network()
    with pytest.raises(Deep500Error, match=r"'q' is \[1, 2, 3\]: give an array"):
        network.add_param("q", [1, 2, 3])  # type: ignore[arg-type]
    assert not network.params and not network.trainable


def pictures() -> Network:
    """Two convolutions and a dense layer over the mean of every channel: any height and width will do."""
    network = Network("pictures")
    network.add_input("x", ("batch", 3, "height", "width"))
    rng = np.random.default_rng(0)
    for name, shape in {"w1": (4, 3, 3, 3), "w2": (5, 4, 3, 3), "w3": (5, 2)}.items():
        network.add_param(name, rng.standard_normal(shape).astype("float32"))
    network.add_node(
        "Conv", ["x", "w1"], ["a"], name="first", strides=(2, 2), pads=(1, 1, 1, 1)
    )
    network.add_node("Relu", ["a"], ["b"], name="relu")
    network.add_node("Conv", ["b", "w2"], ["c"], name="second")
    network.add_node("GlobalAveragePool", ["c"], ["d"], name="mean")
    network.add_node("Flatten", ["d"], ["e"], name="flat")
    network.add_node("MatMul", ["e", "w3"], ["y"], name="dense")
    network.add_output("y")
    return network


X = np.random.default_rng(1).standard_normal((2, 3, 9, 11)).astype("float32")


def output(network: Network, **inputs: np.ndarray) -> np.ndarray:
    return (
        d5.framework("reference").executor(network).inference(inputs or {"x": X})["y"]
    )


# ---- named dimensions


def test_named_dimensions_take_any_size_and_stand_in_shapes() -> None:
    network = pictures()
    assert network.dimensions == ["batch", "height", "width"]
    for shape in [(1, 3, 5, 5), (4, 3, 16, 7)]:
        assert output(network, x=np.ones(shape, "float32")).shape == (shape[0], 2)
    specs = network.specs()
    assert specs["y"] == TensorSpec(("batch", 2))
    # half of the height and of the width
    assert specs["a"].shape == ("batch", 4, "a.2", "a.3")
    assert network.specs({"batch": 2, "height": 9, "width": 11})["c"].shape == (
        2,
        5,
        3,
        4,
    )


def test_one_name_is_one_size() -> None:
    network = Network()
    for name in ("x", "z"):
        network.add_input(name, ("batch", "length"))
    network.add_node("Add", ["x", "z"], ["y"])
    network.add_output("y")
    shapes = {"x": (2, 3), "z": (2, 3)}
    assert network.bind(shapes) == {"batch": 2, "length": 3}
    with pytest.raises(Deep500Error, match="different sizes of 'length': x 3, z 4"):
        output(network, x=np.ones((2, 3)), z=np.ones((2, 4)))
    with pytest.raises(Deep500Error, match=r"\(batch, length\) is wanted"):
        network.bind(shapes | {"z": (2,)})


@pytest.mark.parametrize("size", ["", 1.5, -1, True, None])
def test_a_dimension_is_a_size_or_a_name(size: object) -> None:
    with pytest.raises(Deep500Error, match="give a size, or a name"):
        Network().add_input("x", (2, size))  # type: ignore[arg-type]


def test_named_dimensions_survive_a_file(tmp_path) -> None:
    pictures().save(tmp_path / "n.onnx")
    back = Network.load(tmp_path / "n.onnx")
    assert back.inputs["x"].shape == ("batch", 3, "height", "width")
    assert np.array_equal(output(back), output(pictures()))


@pytest.mark.parametrize("name", ["pytorch", "jax", "tensorflow", "onnxruntime"])
def test_every_framework_takes_any_height(name: str) -> None:
    executor = d5.framework(name).executor(pictures())
    for x in (X, X[:1, :, :7, :5]):
        [y] = executor.inference({"x": x}).values()
        assert np.allclose(
            executor.framework.array(y), output(pictures(), x=x), atol=1e-5
        )


# ---- edits that cannot be


def test_a_node_that_can_never_take_its_inputs_is_refused() -> None:
    network = pictures()
    before = network.nodes
    network.add_param("narrow", np.zeros((7, 2), "float32"))
    with pytest.raises(
        Deep500Error,
        match=r"'dense' \(MatMul\) cannot take e \(batch, 5\), narrow \(7, 2\)",
    ):
        network.add_edge("narrow", "dense", 1)
    with pytest.raises(Deep500Error, match="cannot take"):
        network.add_node("MatMul", ["e", "narrow"], ["z"])
    with pytest.raises(Deep500Error, match="cannot take"):
        network.rewire("w3", "narrow")
    assert network.nodes == before and network.producer("z") is None
    assert output(network).shape == (2, 2)


def test_a_shape_that_fits_some_sizes_is_taken() -> None:
    network = Network()
    network.add_input("x", ("batch", 4))
    network.add_node("Reshape", ["x", (2, 16)], ["y"])  # for batches of 8 only
    network.add_output("y")
    assert output(network, x=np.ones((8, 4))).shape == (2, 16)


def test_open_ends_are_refused_when_the_network_runs_or_is_written() -> None:
    network = pictures()
    network.remove_edge("dense", 1)
    for use in (output, Network.to_onnx):
        with pytest.raises(Deep500Error, match="node 'dense' lacks its input 'b'"):
            use(network)
    network.add_edge("w3", "dense", 1)
    network.remove_node("relu")
    for use in (output, Network.to_onnx):
        with pytest.raises(
            Deep500Error, match="node 'second' needs 'b', which nothing makes"
        ):
            use(network)
    network.rewire("b", "a")
    assert output(network).shape == (2, 2)
    network.remove_node("dense")
    with pytest.raises(Deep500Error, match="is asked for 'y', which nothing makes"):
        output(network)


def test_a_copy_with_an_open_end_can_be_edited() -> None:
    network = pictures().copy()
    network.remove_node("relu")
    network.add_node("Tanh", ["a"], ["b"])
    assert output(network).shape == (2, 2)


def test_a_replacement_makes_the_same_values() -> None:
    network = pictures()
    before = output(network)
    old = network.replace_node("relu", "LeakyRelu", alpha=0.0)
    assert type(old.operator).__name__ == "Relu" and np.allclose(
        output(network), before
    )
    with pytest.raises(
        Deep500Error, match="node 'relu' makes b: what replaces it makes the same"
    ):
        network.replace_node("relu", network.node("mean"))


def test_an_optional_input_is_added_behind_the_others() -> None:
    network = pictures()
    network.add_param("bias", np.full(4, 100, "float32"))
    before = output(network)
    network.add_edge("bias", "first", 2)
    assert network.node("first").inputs == ("x", "w1", "bias")
    assert not np.allclose(output(network), before)


# ---- looking around


def test_producers_and_consumers() -> None:
    network = pictures()
    producer = network.producer("b")
    assert (
        producer is not None
        and producer.name == "relu"
        and network.producer("x") is None
    )
    assert [node.name for node in network.consumers("b")] == ["second"]
    assert network.get_input_nodes() == ["x"] and network.get_output_nodes() == ["y"]


# ---- parameters


def test_freezing_by_pattern() -> None:
    network = pictures()
    network.add_param("w.mean", np.zeros(2, "float32"), trainable=False)
    network.state_updates["w.mean"] = "y"
    assert network.freeze("w[12]") == ["w1", "w2"] and network.get_params() == ["w3"]
    assert network.unfreeze("w2") == ["w2"] and network.get_params() == ["w2", "w3"]
    network.unfreeze()
    # a running statistic is never trained
    assert network.get_params() == ["w1", "w2", "w3"]
    with pytest.raises(
        Deep500Error, match="no parameter matches 'v.'; there are: w1, w2, w3, w.mean"
    ):
        network.freeze("v*")


def test_weights_come_from_a_state_dict_of_any_kind() -> None:
    import torch

    network, other = pictures(), pictures()
    state = {
        name: torch.nn.Parameter(torch.tensor(p) * 2)
        for name, p in network.params.items()
    }
    network.load_state_dict(state)
    for name, param in network.params.items():
        assert np.array_equal(param, 2 * other.params[name])
    with pytest.raises(
        Deep500Error, match="the weights lack 'w2' .2 in all.; they have: w1"
    ):
        network.load_state_dict({"w1": state["w1"]})
    with pytest.raises(Deep500Error, match="has no parameter 'v'"):
        network.load_state_dict(state | {"v": state["w1"]})
    before = network.params["w1"].copy()
    with pytest.raises(Deep500Error, match="the parameter 'w2' has the shape"):
        network.load_state_dict(
            {"w1": state["w1"] * 3, "w2": state["w1"]}, strict=False
        )
    assert np.array_equal(network.params["w1"], before)  # nothing is half loaded


def test_weights_go_through_a_safetensors_file_and_trained_ones_into_onnx(
    tmp_path,
) -> None:
    network = pictures()
    executor = d5.framework("pytorch").executor(network)
    executor.write("w3", np.ones((5, 2), "float32"))
    network.load_state_dict(executor.arrays())
    network.save_weights(tmp_path / "w.safetensors")
    other = pictures()
    other.load_weights(tmp_path / "w.safetensors")
    other.save(tmp_path / "n.onnx")
    assert np.array_equal(
        Network.load(tmp_path / "n.onnx").params["w3"], np.ones((5, 2))
    )


def test_a_pickle_is_not_read(tmp_path) -> None:
    path = tmp_path / "w.pt"
    path.write_bytes(b"")
    with pytest.raises(Deep500Error, match="may be a pickle.*weights_only=True"):
        pictures().load_weights(path)
    (tmp_path / "w.safetensors").write_bytes(b"nonsense")
    with pytest.raises(Deep500Error, match="cannot read weights from"):
        pictures().load_weights(tmp_path / "w.safetensors")


# ---- parts


def test_stages_of_a_pipeline_compute_what_the_whole_does() -> None:
    network = pictures()
    head, tail = network.subnetwork(["x"], ["c"]), network.subnetwork(["c"], ["y"])
    assert list(head.params) == ["w1", "w2"] and tail.get_params() == ["w3"]
    assert tail.inputs["c"].shape == ("batch", 5, "c.2", "c.3")
    reference = d5.framework("reference")
    middle = reference.executor(head).inference({"x": X})
    assert np.array_equal(
        reference.executor(tail).inference(middle)["y"], output(network)
    )
    with pytest.raises(Deep500Error, match="no value is named 'q'"):
        network.subnetwork(["q"], ["y"])


def test_a_stage_needs_no_cut_at_its_beginning_or_end() -> None:
    network = pictures()
    head, tail = network.subnetwork(outputs=["c"]), network.subnetwork(inputs=["c"])
    assert list(head.inputs) == ["x"] and head.outputs == ["c"]
    assert list(tail.inputs) == ["c"] and tail.outputs == network.outputs


def test_a_cut_behind_the_outputs_is_refused() -> None:
    with pytest.raises(
        Deep500Error, match="'c' can be computed without 'y': cut at values"
    ):
        pictures().subnetwork(["y"], ["c"])


def test_a_stage_keeps_the_inputs_that_it_needs_besides() -> None:
    network = d5.networks.DigitsCnn().build((1, 8, 8), 10)
    tail = network.subnetwork(["logits"], ["loss"])
    assert list(tail.inputs) == ["logits", "label"] and not tail.params


# ---- size


def chain(length: int) -> Network:
    network = Network()
    value = network.add_input("x", ("batch", 4))
    for _ in range(length):
        value = network.add_node("Relu", [value])
    network.add_output(value)
    return network


def test_building_and_ordering_are_linear() -> None:
    def seconds(length: int) -> float:
        start = time.process_time()
        chain(length).copy().ordered()
        return time.process_time() - start

    seconds(500)
    assert min(seconds(4000) for _ in range(3)) < 8 * min(
        seconds(1000) for _ in range(3)
    )


def test_an_edit_in_a_large_network_stays_small() -> None:
    network = chain(3000)
    nodes = network.nodes
    for node in nodes[:-1:3]:
        network.rewire(node.outputs[0], next(iter(node.values)))
        network.remove_node(node.name)
    assert len(network.ordered()) == 2000
