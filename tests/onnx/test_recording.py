"""Recording knows no engine: which nodes are written is ONNX's schema's choice, or that of kernels handed in."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import deep500 as d5
from deep500.contracts.operator import Operator
from deep500.errors import Unsupported
from deep500.frameworks import framework
from deep500.onnx.recording.arrays import argument, build
from deep500.onnx.recording.graphs import backward_model
from deep500.onnx.recording.kernels import ONNX, Kernels
from deep500.onnx.recording.namespace import OnnxRecorder
from deep500.onnx.recording.nodes import node, node_or_formula
from deep500.onnx.recording.zeros import RecordedZeros


class Nothing(Kernels):
    """An engine that knows float32 and has a kernel for no operator of ours."""

    def dtype(self, name: str) -> str:
        if name != "float32":
            raise Unsupported(f"nothing has no {name}")
        return name

    def has_kernel(self, operator: Operator, dtypes: Any) -> bool:
        return False


def onnxruntime() -> OnnxRecorder:
    xp = framework("onnxruntime").xp
    assert isinstance(xp, OnnxRecorder)
    return xp


def recorded(
    operator: Operator, dtype: str, *shapes: tuple, xp: OnnxRecorder | None = None
) -> set:
    """The kinds of nodes that an operator becomes."""
    inputs = {f"i{k}": argument(shape, dtype) for k, shape in enumerate(shapes)}
    made = node_or_formula(xp or OnnxRecorder(), operator, [*inputs.values()])
    model = build(inputs, {"y": made[0]})
    return {proto.op_type for proto in model.graph.node} - {"Identity"}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_schema_decides_where_no_engine_is_named(dtype: str) -> None:
    assert recorded(d5.operators.Conv(), dtype, (1, 1, 3, 3), (1, 1, 2, 2)) == {"Conv"}
    assert recorded(d5.operators.Softmax(), dtype, (2, 3)) == {"Softmax"}


def test_kernels_that_are_handed_in_decide() -> None:
    ort = onnxruntime()
    shapes = (1, 1, 3, 3), (1, 1, 2, 2)
    assert recorded(d5.operators.Conv(), "float32", *shapes, xp=ort) == {"Conv"}
    assert "Conv" not in recorded(d5.operators.Conv(), "float64", *shapes, xp=ort)
    assert "Softmax" not in recorded(
        d5.operators.Softmax(), "float32", (2, 3), xp=OnnxRecorder(Nothing())
    )


def test_settings_that_an_engine_refuses() -> None:
    even = d5.operators.LRN(size=2)
    assert ONNX.has_node(even) and not onnxruntime().kernels.has_node(even)


def test_an_engines_dtypes_are_checked() -> None:
    x = argument((2, 3), "float64")
    assert OnnxRecorder().astype(x, "float32").dtype == np.float32
    with pytest.raises(Unsupported, match="nothing has no float64"):
        OnnxRecorder(Nothing()).astype(x, "float64")
    with pytest.raises(Unsupported, match="nothing has no float64"):
        node(OnnxRecorder(Nothing()), d5.operators.Relu(), [x])


def test_a_network_keeps_the_nodes_that_have_kernels() -> None:
    network = d5.networks.DigitsCnn(channels=(2, 3), hidden=(5, 4)).build(
        (1, 8, 8), 4, seed=1
    )
    shapes = {"x": (2, 1, 8, 8), "label": (2,)}
    by_schema = backward_model(OnnxRecorder(), network, "loss", shapes)
    by_engine = backward_model(onnxruntime(), network, "loss", shapes)
    kinds = [
        {proto.op_type for proto in model.graph.node}
        for model in (by_schema, by_engine)
    ]
    # of which onnxruntime has no kernel
    assert kinds[0] - kinds[1] == {"SoftmaxCrossEntropyLoss"}
    assert {"Conv", "Gemm", "Relu", "MaxPool"} <= kinds[0] & kinds[1]
    onnx.checker.check_model(by_schema, full_check=True)


WITHOUT = """
import sys
sys.modules["onnxruntime"] = None
import deep500 as d5
network = d5.networks.Mlp(hidden=(3,)).build((4,), 2, seed=3)
model = network.backward_network(batch=5).to_onnx()
open(sys.argv[1], "wb").write(model.SerializeToString())
assert not [name for name in sys.modules if name.startswith("deep500.frameworks.onnxruntime")]
"""


def test_a_backward_network_needs_no_onnxruntime(tmp_path: Path) -> None:
    path, rng = tmp_path / "backward.onnx", np.random.default_rng(0)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT, str(path)], check=True
    )
    model = onnx.load(path)
    network = d5.networks.Mlp(hidden=(3,)).build((4,), 2, seed=3)
    batch = {
        "x": rng.standard_normal((5, 4)).astype("f4"),
        "label": rng.integers(0, 2, 5),
    }
    session = framework("onnxruntime").session(model)  # type: ignore[attr-defined]
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(names, batch | network.params), strict=True))
    reference = framework("reference").executor(network)
    reference.inference_and_backprop(batch)
    for name, gradient in network.gradient():
        np.testing.assert_allclose(
            found[gradient], reference.gradients[name], rtol=1e-4, atol=1e-6
        )


def kinds_of(model: onnx.ModelProto) -> list[str]:
    return [proto.op_type for proto in model.graph.node if proto.op_type != "Identity"]


def test_what_changes_nothing_is_not_recorded() -> None:
    xp, x = OnnxRecorder(), argument((2, 1, 3), "float32")
    assert xp.reshape(x, (2, 1, 3)) is x and xp.astype(x, "float32") is x
    assert xp.broadcast_to(x, (2, 1, 3)) is x and x[:, 0:1, :] is x
    assert x[:, 0].shape == (2, 3)


def test_gradients_that_are_zero_leave_no_trace() -> None:
    xp, x = OnnxRecorder(), argument((2, 3), "float32")
    zeros = xp.zeros((2, 1), "float32")
    y = x + zeros * x - xp.sum(zeros * 3, axis=1, keepdims=True) / 2
    assert y is x
    assert isinstance(
        xp.zeros((3,), "float32") + xp.zeros((2, 1), "float32"), RecordedZeros
    )
    assert kinds_of(build({"x": x}, {"y": zeros - x})) == ["Neg"]
    assert (xp.zeros((4, 2, 3), "float32") + x).shape == (4, 2, 3)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(("channels", "size"), [(2, 9), (64, 9), (2, 3)])
def test_the_gradient_by_a_kernel_is_a_product(
    groups: int, channels: int, size: int
) -> None:
    rng = np.random.default_rng(3)
    conv = d5.operators.Conv(
        group=groups, strides=(2, 1), pads=(1, 0, 1, 1), dilations=(1, 2)
    )
    x = rng.standard_normal((5, groups * channels, size, size + 2)).astype("float32")
    w = rng.standard_normal((2 * groups, channels, 2, 2)).astype("float32")
    ours = framework("onnxruntime")
    [y] = ours.evaluate(conv, [x, w])
    dy = rng.standard_normal(y.shape).astype("float32")
    found = ours.gradient(conv, [x, w], [dy])
    right = framework("reference").gradient(conv, [x, w], [dy])
    for a, b in zip(found, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_two_thousand_nodes_are_recorded() -> None:
    network = d5.Network("chain")
    network.add_input("x", (2, 3))
    network.add_param("w", np.ones(3, "f4"))
    value = "x"
    for _ in range(1000):
        value = network.add_node("Mul", (network.add_node("Tanh", (value,)), "w"))
    network.add_node("ReduceSum", (value,), ["loss"], keepdims=0)
    network.add_output("loss")
    model = backward_model(OnnxRecorder(), network, "loss", {"x": (2, 3)})
    assert len(model.graph.node) > 4000
