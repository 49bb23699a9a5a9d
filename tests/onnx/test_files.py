"""ONNX files: what is written comes back, runs in plain onnxruntime, and no file of anyone's does harm."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from deep500.contracts.network import Network
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp

RNG = np.random.default_rng(5)


def digits() -> Network:
    return DigitsCnn(channels=(2, 3), hidden=(7, 6)).build((1, 8, 8), 4, seed=1)


def batch(size: int = 5) -> dict[str, np.ndarray]:
    return {
        "x": RNG.standard_normal((size, 1, 8, 8)).astype("f4"),
        "label": RNG.integers(0, 4, size),
    }


def normalised() -> Network:
    """A BatchNormalization, a Reshape with its static input, and a MatMul."""
    network = Network("normalised")
    network.add_input("x", (0, 3, 2, 2))
    for name, value in {"scale": [1.0, 2.0, 3.0], "bias": [0.0, 1.0, 0.0]}.items():
        network.add_param(name, np.array(value, "f4"))
    for name, value in {"mean": [0, 0.5, 1], "var": [1, 2, 0.5]}.items():
        network.add_param(name, np.array(value, "f4"), trainable=False)
    network.add_param("w", RNG.standard_normal((12, 2)).astype("f4"))
    network.add_node(
        "BatchNormalization",
        ("x", "scale", "bias", "mean", "var"),
        ["n", "mean_to", "var_to"],
        name="norm",
        training_mode=1,
        momentum=0.8,
    )
    network.state_updates = {"mean": "mean_to", "var": "var_to"}
    network.add_node(
        "MatMul",
        (network.add_node("Reshape", ("n", (0, -1)), name="flat"), "w"),
        ["y"],
        name="product",
    )
    network.add_output("y")
    return network


@pytest.mark.parametrize("make", [digits, normalised])
def test_a_network_comes_back(make: Callable[[], Network], tmp_path: Path) -> None:
    network = make()
    network.to_onnx(tmp_path / "network.onnx")
    back = Network.from_onnx(tmp_path / "network.onnx")
    assert (back.nodes, back.inputs, back.outputs) == (
        network.nodes,
        network.inputs,
        network.outputs,
    )
    assert (back.name, back.trainable, back.state_updates) == (
        network.name,
        network.trainable,
        network.state_updates,
    )
    assert {n: (v.dtype, v.shape, v.tobytes()) for n, v in back.params.items()} == {
        n: (v.dtype, v.shape, v.tobytes()) for n, v in network.params.items()
    }
    assert (
        back.to_onnx().SerializeToString(deterministic=True)
        == (tmp_path / "network.onnx").read_bytes()
    )


def test_bytes_and_models_are_read_too() -> None:
    model = digits().to_onnx()
    assert (
        Network.from_onnx(model).nodes
        == Network.from_onnx(model.SerializeToString()).nodes
        == digits().nodes
    )


def test_onnxruntime_runs_what_is_written(tmp_path: Path) -> None:
    network, inputs = digits(), batch()
    network.to_onnx(tmp_path / "digits.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "digits.onnx").run(
        ["loss", "logits"], inputs
    )
    right = framework("reference").executor(network).inference(inputs)
    for name, value in zip(("loss", "logits"), found, strict=True):
        np.testing.assert_allclose(value, right[name], rtol=1e-5, atol=1e-5)


def model_of(
    *nodes: onnx.NodeProto,
    weights: dict[str, Any] | None = None,
    opset: int = 17,
    output: str = "y",
    shape: tuple = ("n", 4),
    kind: int = TensorProto.FLOAT,
) -> onnx.ModelProto:
    initializers = [
        v
        if isinstance(v, TensorProto)
        else numpy_helper.from_array(np.asarray(v), name)
        for name, v in (weights or {}).items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(output, kind, ["n"])],
        initializers,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )


def test_constants_fold_and_weights_become_parameters() -> None:
    two = helper.make_node("Constant", [], ["two"], value_float=2.0)
    shape = helper.make_node(
        "Constant", [], ["shape"], value=numpy_helper.from_array(np.array([0, 2, 2]))
    )
    network = Network.from_onnx(
        model_of(
            two,
            shape,
            helper.make_node("Mul", ["x", "two"], ["a"]),
            helper.make_node("Add", ["a", "w"], ["b"]),
            helper.make_node("Reshape", ["b", "shape"], ["y"]),
            weights={"w": np.ones(4, "f4")},
        )
    )
    assert [type(n.operator).__name__ for n in network.nodes] == [
        "Mul",
        "Add",
        "Reshape",
    ]
    assert network.nodes[2].inputs == ("b", (0, 2, 2))
    assert network.trainable == ["w"] and set(network.params) == {"w", "two"}
    x = np.arange(8, dtype="f4").reshape(2, 4)
    np.testing.assert_array_equal(
        framework("reference").executor(network).inference({"x": x})["y"],
        (2 * x + 1).reshape(2, 2, 2),
    )


def test_optional_inputs_and_default_attributes() -> None:
    network = Network.from_onnx(
        model_of(
            helper.make_node("Gemm", ["x", "w", ""], ["y"], transB=1, alpha=0.1),
            weights={"w": np.ones((3, 4), "f4")},
        )
    )
    assert network.nodes[0].inputs == ("x", "w")
    # not 0.10000000149, which is the same in float32
    assert network.nodes[0].operator.settings["alpha"] == 0.1


def test_running_statistics_are_not_trained_and_a_frozen_norm_warns() -> None:
    ones = {name: np.ones(4, "f4") for name in ("s", "b", "m", "v")}
    network = Network.from_onnx(
        model_of(
            helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"]),
            weights=ones,
        )
    )
    assert network.trainable == ["s", "b"]
    with pytest.warns(UserWarning, match="fixed running statistics"):
        network.warn_before_training()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        normalised().warn_before_training()


def tensor(*dims: int) -> TensorProto:
    """Four bytes that claim to be more."""
    return TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"1234"
    )


def relu(source: str = "x", to: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node("Relu", [source], [to], **attributes)


BAD = {
    "unknown operator": (model_of(helper.make_node("Nope", ["x"], ["y"])), "'Nope'"),
    "unknown domain": (
        model_of(helper.make_node("Relu", ["x"], ["y"], domain="elsewhere")),
        "no opset",
    ),
    "unknown attribute": (
        model_of(
            helper.make_node("Conv", ["x", "w"], ["y"], secret=3),
            weights={"w": np.ones((1, 1, 1, 1), "f4")},
        ),
        "secret",
    ),
    "older meaning": (
        model_of(helper.make_node("Softmax", ["x"], ["y"]), opset=11),
        "from opset 13 on",
    ),
    "opset of the future": (model_of(relu(), opset=999), "opset 999"),
    "opset zero": (model_of(relu(), opset=0), "opset 0"),
    "cycle": (model_of(relu("a", "b"), relu("b", "a"), relu("a")), "'b'|'a'"),
    "missing input": (model_of(relu("nothing")), "nothing"),
    "too few inputs": (model_of(helper.make_node("Gemm", ["x"], ["y"])), "Gemm|'b'"),
    "too many inputs": (model_of(helper.make_node("Relu", ["x", "x"], ["y"])), "Relu"),
    "too many outputs": (model_of(helper.make_node("Relu", ["x"], ["y", "z"])), "Relu"),
    "a name twice": (model_of(relu(to="a"), relu(to="a"), relu("a")), "a"),
    "missing output": (model_of(relu(to="z")), "y"),
    "strings": (model_of(relu(), kind=TensorProto.STRING), "Relu|'x'"),
    "string weights": (
        model_of(
            helper.make_node("Add", ["x", "w"], ["y"]), weights={"w": np.array(["a"])}
        ),
        "'w'",
    ),
    "overflow": (
        model_of(
            helper.make_node("Add", ["x", "w"], ["y"]),
            weights={"w": tensor(1 << 40, 1 << 40)},
        ),
        "over",
    ),
    "huge dims": (
        model_of(
            helper.make_node("Add", ["x", "w"], ["y"]),
            weights={"w": tensor(1 << 20, 1 << 20)},
        ),
        "w",
    ),
    "small data": (
        model_of(helper.make_node("Add", ["x", "w"], ["y"]), weights={"w": tensor(4)}),
        "w",
    ),
    "negative dims": (model_of(relu(), shape=("n", -4)), "negative"),
    "wrong attribute type": (
        model_of(helper.make_node("Softmax", ["x"], ["y"], axis="one")),
        "axis",
    ),
    "subgraph": (
        model_of(
            helper.make_node("If", ["x"], ["y"], then_branch=model_of(relu()).graph)
        ),
        "If",
    ),
    "external data": (
        model_of(
            helper.make_node("Add", ["x", "w"], ["y"]),
            weights={
                "w": TensorProto(
                    name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL
                )
            },
        ),
        "another file",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_models_give_one_line(case: str, tmp_path: Path) -> None:
    model, reason = BAD[case]
    path = tmp_path / "bad.onnx"
    path.write_bytes(model.SerializeToString())
    for source in (model, model.SerializeToString(), path):
        with pytest.raises(Deep500Error, match=reason) as error:
            Network.from_onnx(source)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"\x00" * 100, os.urandom(2000), b"{}", b"PK\x03\x04"]
)
def test_garbage_gives_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "garbage.onnx").write_bytes(content)
    for source in (content, tmp_path / "garbage.onnx"):
        with pytest.raises(Deep500Error, match="not an ONNX model"):
            Network.from_onnx(source)


@pytest.mark.parametrize("source", ["no/such/file.onnx", "\0", "."])
def test_what_is_no_file_gives_one_line(source: Any) -> None:
    with pytest.raises(Deep500Error, match="cannot read an ONNX model"):
        Network.from_onnx(source)


@pytest.mark.parametrize(("source", "kind"), [(3, "int"), (None, "NoneType")])
def test_what_is_no_model_gives_one_line(source: Any, kind: str) -> None:
    with pytest.raises(Deep500Error, match=f"a {kind} is no ONNX model: give its path"):
        Network.from_onnx(source)


def test_weights_beside_the_file_are_read(tmp_path: Path) -> None:
    onnx.save(
        digits().to_onnx(),
        tmp_path / "digits.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    back = Network.from_onnx(tmp_path / "digits.onnx")
    assert all((back.params[n] == v).all() for n, v in digits().params.items())


@pytest.mark.parametrize(
    "location",
    ["../secret.bin", "{folder}/secret.bin", "a/../../secret.bin", "link.bin", "none"],
)
def test_nothing_outside_the_folder_is_read(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(np.ones(4, "f4").tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    weight = TensorProto(
        name="w",
        data_type=TensorProto.FLOAT,
        dims=[4],
        data_location=TensorProto.EXTERNAL,
    )
    weight.external_data.add(key="location", value=location.format(folder=tmp_path))
    model = model_of(helper.make_node("Add", ["x", "w"], ["y"]), weights={"w": weight})
    (folder / "bad.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(Deep500Error, match="another file"):
        Network.from_onnx(folder / "bad.onnx")


@settings(max_examples=60)
@given(data=st.data())
def test_a_damaged_file_never_does_worse_than_one_line(data: st.DataObject) -> None:
    content = bytearray(Mlp(hidden=(3,)).build((2,), 2).to_onnx().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(
            st.integers(0, 255)
        )
    try:
        network = Network.from_onnx(bytes(content))
    except Deep500Error as error:
        assert "\n" not in str(error)
    else:
        assert network.ordered() is not None


def test_what_onnx_cannot_say_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="cannot write"):
        digits().to_onnx(tmp_path / "no" / "such" / "folder.onnx")
    network = digits()
    network.remove_node("conv1")
    with pytest.raises(Deep500Error, match="nothing makes"):
        network.to_onnx()


def test_a_missing_operator_is_unsupported() -> None:
    with pytest.raises(Unsupported):
        Network.from_onnx(BAD["unknown operator"][0])
