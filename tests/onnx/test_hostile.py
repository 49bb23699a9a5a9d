"""Crafted models: each gives a result or one line, in time and in memory, whatever it asks for."""

import os
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from deep500.contracts.network import Network
from deep500.errors import Deep500Error
from deep500.frameworks import framework

LONGEST_S = 60
LARGEST = 2 << 20  # KiB
node = helper.make_node
Make = Callable[[], onnx.ModelProto]


def model(
    *nodes: onnx.NodeProto,
    shape: tuple | None = (2, 3),
    functions: tuple = (),
    weights: dict[str, onnx.TensorProto] | None = None,
    **constants: Any,
) -> onnx.ModelProto:
    arrays = {
        name: numpy_helper.from_array(np.asarray(v), name)
        for name, v in constants.items()
    }
    graph = helper.make_graph(
        nodes,
        "hostile",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n"])],
        [*arrays.values(), *(weights or {}).values()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=10, functions=functions
    )


def large_results(n: int) -> Iterator[tuple[str, Make]]:
    """A few bytes that ask for n elements, or for n times n."""
    yield "ConstantOfShape", lambda: model(node("ConstantOfShape", ["s"], ["y"]), s=[n])
    yield "Expand", lambda: model(node("Expand", ["x", "s"], ["y"]), s=[n, 1, 1])
    yield "Tile", lambda: model(node("Tile", ["x", "s"], ["y"]), s=[n, n])
    yield "Pad", lambda: model(node("Pad", ["x", "s"], ["y"]), s=[n, 0, 0, n])
    yield (
        "Range",
        lambda: model(
            node("Range", ["a", "b", "c"], ["r"]),
            node("Cast", ["r"], ["y"], to=1),
            a=0,
            b=n,
            c=1,
        ),
    )
    sizes = np.array([2, n], np.int64)
    yield "Resize", lambda: model(node("Resize", ["x", "", "", "s"], ["y"]), s=sizes)
    values = np.array([0, 1], np.float32)
    yield "OneHot", lambda: model(node("OneHot", ["x", "d", "v"], ["y"]), d=n, v=values)
    yield "HannWindow", lambda: model(node("HannWindow", ["n"], ["y"]), n=n)
    yield "RandomNormal", lambda: model(node("RandomNormal", [], ["y"], shape=[n, 2]))
    yield "Reshape", lambda: model(node("Reshape", ["x", "s"], ["y"]), s=[n, 6])
    yield "Split", lambda: model(node("Split", ["x"], ["y"], num_outputs=n))
    yield "Unsqueeze", lambda: model(node("Unsqueeze", ["x", "a"], ["y"]), a=[n])
    yield "Gather", lambda: model(node("Gather", ["x", "a"], ["y"]), a=[n])
    yield "Concat", lambda: model(node("Concat", ["x", "x"], ["y"], axis=n))
    yield (
        "CenterCropPad",
        lambda: model(node("CenterCropPad", ["x", "s"], ["y"]), s=[n, n]),
    )
    product = node("MatMul", ["e", "e"], ["y"])
    yield (
        "MatMul",
        lambda: model(
            node("Expand", ["x", "s"], ["e"]), product, shape=(1, 1), s=[n, n]
        ),
    )


def windows(n: int) -> Iterator[tuple[str, Make]]:
    """Kernels, strides, dilations and pads of n."""
    for operator in ("AveragePool", "MaxPool", "LpPool", "Conv", "ConvTranspose"):
        for name, count in (
            ("kernel_shape", 1),
            ("strides", 1),
            ("dilations", 1),
            ("pads", 2),
        ):
            yield f"{operator} {name}", partial(window, operator, name, count, n)


def window(operator: str, name: str, count: int, n: int) -> onnx.ModelProto:
    has_weights = operator.startswith("Conv")
    attributes: dict[str, Any] = {"kernel_shape": [2], name: [n] * count}
    inputs = ["x", "w"] if has_weights else ["x"]
    made = node(operator, inputs, ["y"], **attributes)
    if has_weights:
        return model(made, shape=(1, 1, 8), w=np.ones((1, 1, 2), np.float32))
    return model(made, shape=(1, 1, 8))


def loop(count: int | None, until: float, *before: onnx.NodeProto) -> onnx.ModelProto:
    """A loop that goes on while the largest element is below a number."""
    body = helper.make_graph(
        [
            *before,
            node("Identity", ["v"], ["v2"]),
            node("ReduceMax", ["v"], ["m"], keepdims=0),
            node("Less", ["m", "limit"], ["go2"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, ["a", "b"]),
        ],
        [
            helper.make_tensor_value_info("go2", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("v2", onnx.TensorProto.FLOAT, ["a", "b"]),
        ],
    )
    constants: dict[str, Any] = {"limit": np.float32(until)}
    if count is not None:
        constants["most"] = count
    first = "most" if count is not None else ""
    return model(node("Loop", [first, "", "x"], ["y"], body=body), **constants)


def calls(width: int, depth: int) -> onnx.ModelProto:
    """Functions that call the next so many times; the last is empty."""
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = [helper.make_function("own", f"f{depth}", [], [], [], opsets)]
    for i in range(depth):
        inner = [node(f"f{i + 1}", [], [], domain="own") for _ in range(width)]
        functions.append(helper.make_function("own", f"f{i}", [], [], inner, opsets))
    return model(
        node("f0", [], [], domain="own"),
        node("Relu", ["x"], ["y"]),
        functions=tuple(functions),
    )


def weight(**fields: Any) -> onnx.ModelProto:
    tensor = onnx.TensorProto(name="w", data_type=1, dims=[3], raw_data=b"\0" * 12)
    tensor.MergeFrom(onnx.TensorProto(**fields))
    return model(node("Add", ["x", "w"], ["y"]), weights={"w": tensor})


STRUCTURES: dict[str, Make] = {
    "loop with an end": lambda: loop(10, 1e9),
    "functions 10 wide, 7 deep": lambda: calls(10, 7),
    "functions 2 wide, 60 deep": lambda: calls(2, 60),
    "cycle": lambda: model(node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])),
    "itself": lambda: model(node("Add", ["x", "y"], ["y"])),
    "unknown domain": lambda: model(node("Relu", ["x"], ["y"], domain="elsewhere")),
    "missing": lambda: model(node("Add", ["x", "nothing"], ["y"])),
    "name twice": lambda: model(node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"])),
    "name of the input": lambda: model(
        node("Relu", ["x"], ["x"]), node("Abs", ["x"], ["y"])
    ),
    "escapes": lambda: model(node("Add", ["x", "\x1b[2J\n"], ["y"], name="\n\x1b[31m")),
    "no nodes": lambda: model(),
    "input without a shape": lambda: model(node("Relu", ["x"], ["y"]), shape=None),
    "negative weight": lambda: weight(dims=[-3]),
    "huge weight": lambda: weight(dims=[2**40]),
    "unknown dtype": lambda: weight(data_type=99),
    "strings": lambda: weight(data_type=8),
    "long sequence": lambda: model(
        node("ConstantOfShape", ["s"], ["c"]),
        node("SplitToSequence", ["c"], ["q"]),
        node("ConcatFromSequence", ["q"], ["y"], axis=0),
        s=[10**9],
    ),
    "long recurrence": lambda: model(
        node("Expand", ["x", "s"], ["e"]),
        node("LSTM", ["e", "w", "r"], ["y"], hidden_size=1),
        shape=(1, 1, 1),
        s=[10**6, 1, 1],
        w=np.ones((1, 4, 1), np.float32),
        r=np.ones((1, 4, 1), np.float32),
    ),
}
NUMBERS = (10**5, 10**10, 2**62, -1, 0)
CASES: dict[str, Make] = {
    **{f"{name} {n}": make for n in NUMBERS for name, make in large_results(n)},
    **{f"{name} {n}": make for n in NUMBERS for name, make in windows(n)},
    **STRUCTURES,
}


def run(content: bytes, name: str) -> None:
    network = Network.from_onnx(content)
    inputs = {}
    for key, tensor in network.inputs.items():
        shape = [n if isinstance(n, int) else 2 for n in tensor.shape]
        inputs[key] = np.ones(shape, tensor.dtype)
    executor = framework(name).executor(network)
    for value in executor.inference(inputs).values():
        executor.framework.array(value)


def test_there_are_two_hundred() -> None:
    assert len(CASES) >= 190


@pytest.mark.parametrize("case", CASES)
def test_a_result_or_one_line(case: str) -> None:
    content = CASES[case]().SerializeToString()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.monotonic()
    try:
        run(content, "reference")
    except Deep500Error as error:
        assert "\n" not in str(error) and "\x1b" not in str(error)
    assert time.monotonic() - start < LONGEST_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < LARGEST


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("ConstantOfShape 10000000000", "node 'ConstantOfShape' .*needs 37.3 GiB"),
        ("ConstantOfShape -1", "node 'ConstantOfShape' would make a negative shape"),
        ("Split 10000000000", "node 'Split'.*10000000000 parts"),
        ("MaxPool strides 0", "node 'MaxPool.*': strides of MaxPool is "),
        ("functions 10 wide, 7 deep", "come to 11111112 nodes"),
        ("long recurrence", "node 'LSTM' .*1000000 steps"),
        ("missing", "node 'Add → y' needs 'nothing', which nothing makes"),
        (
            "cycle",
            "form a cycle.* the first that comes too early is 'Add → a', which needs 'b'",
        ),
        ("input without a shape", "the input 'x' has no shape: give it one"),
    ],
)
def test_the_line_says_what_is_wrong(case: str, reason: str) -> None:
    with pytest.raises(Deep500Error, match=reason):
        run(CASES[case]().SerializeToString(), "reference")


def test_an_endless_loop_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deep500.onnx.operators.MOST_ROUNDS", 500)
    for count in (None, 10**12):
        with pytest.raises(Deep500Error, match="more than 500 rounds"):
            run(loop(count, 1e9).SerializeToString(), "reference")


def test_a_weight_in_a_body_is_one_weight() -> None:
    """An If in every round of a Loop, with a weight of its own, which is trained as one."""
    branches = {}
    for name in ("then", "else"):
        value = numpy_helper.from_array(np.ones(3, np.float32), f"w_{name}")
        result = helper.make_tensor_value_info(
            f"{name}_out", onnx.TensorProto.FLOAT, [3]
        )
        add = node("Add", ["v", f"w_{name}"], [f"{name}_out"])
        branches[f"{name}_branch"] = helper.make_graph(
            [add], name, [], [result], [value]
        )
    body = helper.make_graph(
        [node("If", ["go"], ["v2"], **branches), node("Identity", ["go"], ["go2"])],
        "body",
        [
            helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
            helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("go2", onnx.TensorProto.BOOL, []),
            helper.make_tensor_value_info("v2", onnx.TensorProto.FLOAT, [3]),
        ],
    )
    repeated = model(
        node("Loop", ["most", "", "x"], ["y"], body=body), shape=(3,), most=50
    )
    network = Network.from_onnx(repeated)
    assert network.trainable == ["w_then"]
    results = (
        framework("reference")
        .executor(network)
        .inference({"x": np.zeros(3, np.float32)})
    )
    assert results["y"].tolist() == [50, 50, 50]


def test_nodes_out_of_order_are_put_in_order() -> None:
    shuffled = model(node("Relu", ["a"], ["y"]), node("Neg", ["x"], ["a"]))
    network = Network.from_onnx(shuffled)
    assert [type(n.operator).__name__ for n in network.nodes] == ["Neg", "Relu"]


def test_outputs_need_no_shape() -> None:
    """ONNX's checker wants one, ONNX Runtime does not, and many models that are built by hand have none."""
    shapeless = model(node("Relu", ["x"], ["y"]))
    shapeless.graph.output[0].type.tensor_type.ClearField("shape")
    before = shapeless.SerializeToString()
    network = Network.from_onnx(shapeless)
    assert network.specs()["y"].shape == (2, 3)
    assert shapeless.SerializeToString() == before


def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in (tmp_path / "pipe.onnx", "/dev/zero", "/dev/null"):
        with pytest.raises(
            Deep500Error, match="cannot read an ONNX model.*no regular file"
        ):
            Network.from_onnx(path)
    with pytest.raises(Deep500Error, match="cannot read an ONNX model.*it is a folder"):
        Network.from_onnx(tmp_path)


@pytest.mark.parametrize("named", [True, False])
def test_reading_and_writing_many_nodes_is_linear(named: bool) -> None:
    """In processor time, four times as many nodes: what is quadratic takes sixteen times as long."""
    small, large = (min(seconds(n, named) for _ in range(2)) for n in (500, 2000))
    assert large < 10 * small


def seconds(count: int, named: bool) -> float:
    nodes = []
    for i in range(count):
        name = f"node{i}" if named else ""
        source = f"v{i}" if i else "x"
        nodes.append(
            node("Relu", [source], [f"v{i + 1}" if i + 1 < count else "y"], name=name)
        )
    content = model(*nodes).SerializeToString()
    start = time.process_time()
    Network.from_onnx(content).to_onnx()
    return time.process_time() - start
