"""Which weights of a file are trained."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import deep500 as d5
from deep500.contracts.network import Network
from deep500.errors import Deep500Error
from deep500.onnx.roles import KIND

node = helper.make_node
ROW = np.linspace(-1, 1, 4, dtype="f4")
MASK = np.triu(np.full((4, 4), -np.inf, "f4"), 1)


def trained(*nodes: onnx.NodeProto, **weights: Any) -> list[str]:
    arrays = [
        numpy_helper.from_array(np.asarray(v), name) for name, v in weights.items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "m"])],
        arrays,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    return Network.from_onnx(model).trainable


def test_settings_are_not_trained() -> None:
    one = np.float32(2)
    assert trained(node("Pow", ["x", "w"], ["y"]), w=one) == []
    assert trained(node("Clip", ["x", "", "w"], ["y"]), w=one) == []
    assert trained(node("Add", ["x", "w"], ["y"]), w=np.array([1e-5], "f4")) == []
    assert trained(node("Div", ["x", "w"], ["y"]), w=one) == []
    assert (
        trained(node("Pad", ["x", "p", "w"], ["y"]), w=one, p=np.array([1, 1, 1, 1]))
        == []
    )


def test_masks_are_not_trained() -> None:
    assert trained(node("Add", ["x", "w"], ["y"]), w=MASK) == []
    assert (
        trained(
            node("Add", ["x", "w"], ["y"]),
            w=np.where(np.isinf(MASK), np.finfo("f4").min, 0).astype("f4"),
        )
        == []
    )


LOWER = np.tri(4, dtype="f4")


@pytest.mark.parametrize(
    "mask",
    [
        LOWER,
        1 - LOWER,
        LOWER.T,
        np.tri(4, k=-1, dtype="f4"),
        (1 - LOWER) * -1e9,
        (1 - LOWER[None, None]) * -1e4,
        np.tri(4, 6, 2, dtype="f4"),
        np.array([[0, -1e9, 0, -1e9]], "f4"),
    ],
    ids=["0/1", "1/0", "upper", "no diagonal", "-1e9", "4-d", "cached", "padding"],
)
def test_arrays_of_two_numbers_that_hide_something_are_masks(mask: np.ndarray) -> None:
    assert trained(node("Add", ["x", "m"], ["y"]), m=mask.astype("f4")) == []
    assert trained(node("Mul", ["x", "m"], ["y"]), m=mask.astype("f4")) == []


@pytest.mark.parametrize(
    "weight",
    [np.eye(4), np.ones((4, 4)), np.zeros((4, 4)), LOWER * ROW, [[0, 1], [0, 0]]],
    ids=["identity", "ones", "zeros", "triangular", "too small to tell"],
)
def test_weights_that_look_like_masks_are_trained(weight: Any) -> None:
    product = node("MatMul", ["x", "w"], ["y"])
    assert trained(product, w=np.asarray(weight, "f4")) == ["w"]


def test_weights_are_trained_wherever_they_come_in() -> None:
    for kind in "MatMul", "Add", "Mul", "Sub":
        assert trained(node(kind, ["x", "w"], ["y"]), w=np.outer(ROW, ROW)) == ["w"]
    assert trained(
        node("Gather", ["w", "i"], ["y"]), w=np.outer(ROW, ROW), i=np.array([1, 2])
    ) == ["w"]
    assert trained(
        node("Transpose", ["w"], ["t"]),
        node("MatMul", ["x", "t"], ["y"]),
        w=np.outer(ROW, ROW),
    ) == ["w"]
    assert trained(node("Gemm", ["x", "w", "b"], ["y"]), w=ROW[:, None], b=ROW[:1]) == [
        "w",
        "b",
    ]
    linear = node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["y"])
    assert trained(*linear, w=ROW[:, None], b=ROW[:1]) == ["w", "b"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # what the exporter says about itself
def test_a_transformer_that_pytorch_exports_keeps_its_parameters_and_no_more(
    tmp_path: Path,
) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    nn = torch.nn

    class Transformer(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = (
                nn.Embedding(50, 16),
                nn.Parameter(torch.randn(1, 8, 16)),
            )
            self.norm, self.qkv, self.out = (
                nn.LayerNorm(16),
                nn.Linear(16, 48),
                nn.Linear(16, 16),
            )
            self.up, self.down, self.head = (
                nn.Linear(16, 32),
                nn.Linear(32, 16),
                nn.Linear(16, 1),
            )
            self.register_buffer("mask", torch.full((8, 8), float("-inf")).triu(1))
            self.register_buffer("waves", torch.randn(8, 16))

        def forward(self, tokens: Any) -> Any:
            x = self.token(tokens) + self.place + self.waves
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + self.out(
                (q @ k.transpose(-1, -2) / 16**0.5 + self.mask).softmax(-1) @ v
            )
            x = x + self.down(nn.functional.gelu(self.up(x)))
            x = x * torch.rsqrt((x**2).mean(-1, keepdim=True) + 1e-6)
            return self.head(x).clamp(-5.0, 5.0)

    module = Transformer().eval()
    exported = torch.onnx.export(
        module, (torch.zeros(2, 8, dtype=torch.long),), dynamo=True, verbose=False
    )
    exported.save(tmp_path / "gpt.onnx")
    network = Network.from_onnx(tmp_path / "gpt.onnx")
    assert sum(network.params[name].size for name in network.trainable) == sum(
        p.numel() for p in module.parameters()
    )
    assert not {"mask", "waves"} & set(network.trainable)
    model = onnx.load(tmp_path / "gpt.onnx")
    # without the exporter's marks, the rule takes the waves for a weight
    del model.graph.value_info[:]
    bare = Network.from_onnx(model)
    assert set(bare.trainable) == {*network.trainable, "waves"}


def test_a_parameter_that_goes_through_a_sequence_is_trained() -> None:
    """PyTorch's exporter splits the projection of cross-attention by SplitToSequence."""
    weight = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    nodes = [
        helper.make_node("SplitToSequence", ["w"], ["parts"], axis=0, name="split"),
        helper.make_node("SequenceAt", ["parts", "first"], ["row"]),
        helper.make_node("Mul", ["x", "row"], ["y"]),
    ]
    first = numpy_helper.from_array(np.asarray(0), "first")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])
    graph = helper.make_graph(nodes, "g", [x], [y], [weight, first])
    info = graph.value_info.add(name="w")
    info.metadata_props.add(key=KIND, value="PARAMETER")
    info.type.CopyFrom(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [4, 3]))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    assert Network.from_onnx(model).trainable == ["w"]
    model.graph.value_info[0].metadata_props[0].value = "BUFFER"
    assert Network.from_onnx(model).trainable == []


@pytest.mark.parametrize(
    "text",
    ["[", "3", '{"weight": "x"}', "[3]", "[" * 5000],
    ids=["cut", "a number", "a dict", "no names", "deep"],
)
def test_metadata_that_are_no_names_are_refused(text: str) -> None:
    model = d5.networks.Mlp(hidden=(4,)).build((5,), 3).to_onnx()
    for entry in model.metadata_props:
        if entry.key == "deep500.trainable":
            entry.value = text
    with pytest.raises(Deep500Error, match="do not tell what is trained"):
        Network.from_onnx(model)


def test_statistics_that_another_program_left_are_still_updated() -> None:
    network = d5.networks.create("resnet", depth=8, outputs=3, shape=(3, 8, 8), seed=0)
    model = network.to_onnx()
    for entry in model.metadata_props:
        if entry.key == "deep500.trainable":
            entry.value = json.dumps([*network.trainable, "gone"])
    again = Network.from_onnx(model)
    assert again.state_updates == network.state_updates != {}
    assert set(again.trainable) == set(network.trainable)
    assert "has removed gone" in again.remarks[0]
