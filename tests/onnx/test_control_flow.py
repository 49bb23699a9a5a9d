"""If, Loop and Scan in files: written out where they can be foreseen, decided by a run where not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from deep500.contracts.network import Network
from deep500.errors import Deep500Error, Unsupported
from deep500.formats.onnx import Onnx
from deep500.frameworks import available_frameworks, framework
from deep500.frameworks.reference.namespace import NumpyNamespace
from deep500.graph.graph import Node, Subgraph
from deep500.onnx import reading
from deep500.onnx.operators import If
from deep500.registry import find

read = Onnx().read

node = helper.make_node
X = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
SLOW = {"jax", "tensorflow"}
FRAMEWORKS = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in available_frameworks()
]


def info(
    name: str, shape: Sequence[int | str] | None = None, kind: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto] = (),
    outputs: Sequence[onnx.ValueInfoProto] = (),
    weights: Mapping[str, Any] | None = None,
) -> onnx.GraphProto:
    arrays = [
        numpy_helper.from_array(np.asarray(v), name)
        for name, v in (weights or {}).items()
    ]
    return helper.make_graph(nodes, "g", inputs, outputs, arrays)


def model_of(
    *nodes: onnx.NodeProto,
    weights: Mapping[str, Any] | None = None,
    more: Sequence = (),
    outputs: str = "y2",
    opset: int = 17,
) -> onnx.ModelProto:
    """Outputs are named with their ranks."""
    made = [
        info(name[:-1], [f"{name}.{i}" for i in range(int(name[-1]))])
        for name in outputs.split()
    ]
    whole = graph(nodes, [info("x", (3, 4)), *more], made, weights)
    return helper.make_model(
        whole, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )


def run(
    network: Network, x: np.ndarray = X, name: str = "reference"
) -> list[np.ndarray]:
    found = framework(name).executor(network).inference({"x": x})
    return [framework(name).array(found[output]) for output in network.outputs]


def right(
    model: onnx.ModelProto, x: np.ndarray = X, **more: np.ndarray
) -> list[np.ndarray]:
    """By ONNX Runtime, of the model as it stands."""
    return framework("onnxruntime").session(model).run(None, {"x": x, **more})  # type: ignore[attr-defined]


def agree(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> None:
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


BRANCHES = {
    "then_branch": graph(
        [node("Mul", ["x", "w"], ["a"]), node("Gemm", ["a", "m"], ["b"])],
        (),
        [info("b")],
        {"w": np.arange(4, dtype="f4") - 1.2},
    ),
    "else_branch": graph([node("Neg", ["x"], ["c"])], (), [info("c")]),
}
SQUARE = {"m": np.random.default_rng(1).normal(size=(4, 4)).astype("f4")}
FLAG = info("flag", (), TensorProto.BOOL)


@pytest.mark.parametrize("flag", [True, False])
def test_a_branch_is_chosen_where_the_condition_is_known(flag: bool) -> None:
    model = model_of(
        node("If", ["flag"], ["y"], **BRANCHES), weights=SQUARE, more=[FLAG]
    )
    network = read(model, {"flag": np.asarray(flag)})
    assert [type(n.operator).__name__ for n in network.nodes] == (
        ["Mul", "Gemm"] if flag else ["Neg"]
    ) + ["Identity"]
    assert network.trainable == (["w", "m"] if flag else [])
    agree(run(network), right(model, flag=np.asarray(flag)))


DECIDED = (
    node("ReduceSum", ["x"], ["s"], keepdims=0),
    node("Greater", ["s", "zero"], ["p"]),
    node("If", ["p"], ["y"], **BRANCHES),
    node("Mul", ["y", "y"], ["z"]),
    node("ReduceSum", ["z"], ["loss"], keepdims=0),
)


def decided() -> onnx.ModelProto:
    return model_of(
        *DECIDED, weights=SQUARE | {"zero": np.float32(0)}, outputs="y2 loss0"
    )


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_run_decides_and_its_branch_has_the_gradient(name: str) -> None:
    """The gradient of the weights in the branch taken, against that of the branch written out; zero in the other."""
    network = read(decided())
    assert (
        network.trainable == ["w", "m"]
        and [type(n.operator).__name__ for n in network.nodes][2] == "If"
    )
    executor, array = framework(name).executor(network), framework(name).array
    for x, flag in (abs(X), True), (-abs(X), False):
        agree(run(network, x, name), right(decided(), x))
        executor.inference_and_backprop({"x": x})
        model = model_of(
            node("If", ["flag"], ["y"], **BRANCHES),
            *DECIDED[3:],
            weights=SQUARE,
            more=[FLAG],
            outputs="y2 loss0",
        )
        plain = framework("reference").executor(read(model, {"flag": np.asarray(flag)}))
        plain.inference_and_backprop({"x": x})
        for weight in network.trainable:
            want = plain.gradients.get(weight, np.zeros_like(network.params[weight]))
            np.testing.assert_allclose(
                array(executor.gradients[weight]), want, rtol=1e-4, atol=1e-5
            )
    # the other branch is not right
    assert not np.allclose(run(network, abs(X), name)[0], right(decided(), -abs(X))[0])


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_branches_of_different_shapes(name: str) -> None:
    other = graph([node("ReduceSum", ["x"], ["c"], keepdims=1)], (), [info("c")])
    network = read(
        model_of(
            *DECIDED[:2],
            node(
                "If",
                ["p"],
                ["y"],
                then_branch=BRANCHES["else_branch"],
                else_branch=other,
            ),
            weights={"zero": np.float32(0)},
        )
    )
    executor = framework(name).executor(network)
    for x, shape in (abs(X), (3, 4)), (-abs(X), (1, 1)), (abs(X), (3, 4)):
        assert (
            executor.framework.array(executor.inference({"x": x})["y"]).shape == shape
        )


def test_training_is_off_in_a_branch_when_nothing_is_learnt() -> None:
    ones = {name: np.ones(4, "f4") for name in ("scale", "bias", "mean", "var")}
    norm = node(
        "BatchNormalization",
        ["x", *ones],
        ["b", "new_mean", "new_var"],
        training_mode=1,
    )
    branches = BRANCHES | {"then_branch": graph([norm], (), [info("b")])}
    network = read(
        model_of(
            *DECIDED[:2],
            node("If", ["p"], ["y"], **branches),
            weights=ones | {"zero": np.float32(0)},
        )
    )
    np.testing.assert_allclose(run(network, abs(X))[0], abs(X), atol=1e-5)


def loop_of(
    body: Sequence[onnx.NodeProto],
    outputs: Sequence[str] = (),
    weights: Mapping[str, Any] | None = None,
    more: Sequence[str] = (),
) -> onnx.NodeProto:
    inner = graph(
        body,
        [
            info("i", (), TensorProto.INT64),
            info("c", (), TensorProto.BOOL),
            info("v", (3, 4)),
        ],
        [
            info("go", (), TensorProto.BOOL),
            info("v2", (3, 4)),
            *(info(o, (3, 4)) for o in outputs),
        ],
        weights,
    )
    return node("Loop", ["count", "true", "x"], ["y", *more], body=inner)


COUNTED = (
    node("Identity", ["c"], ["go"]),
    node("Cast", ["i"], ["f"], to=1),
    node("Mul", ["v", "w"], ["a"]),
    node("Add", ["a", "f"], ["v2"]),
    node("Sub", ["v2", "x"], ["row"]),
)
START = {"true": np.asarray(True), "count": np.asarray(3)}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_loop_is_written_out_round_by_round(count: int) -> None:
    loop = loop_of(
        COUNTED, ["row"], {"w": np.linspace(0.5, 2, 4, dtype="f4")}, ["rows"]
    )
    model = model_of(
        loop, weights=START | {"count": np.asarray(count)}, outputs="y2 rows3"
    )
    network = read(model)
    agree(run(network), right(model))
    # one weight, however many rounds
    assert network.trainable == (["w"] if count else [])
    if count == 3:
        wrong = read(
            model_of(loop, weights=START | {"count": np.asarray(2)}, outputs="y2 rows3")
        )
        assert not np.allclose(run(wrong)[0], right(model)[0])


def test_a_loop_that_computes_its_end_from_constants_is_written_out() -> None:
    body = (node("Less", ["i", "two"], ["go"]), node("Add", ["v", "v"], ["v2"]))
    model = model_of(
        loop_of(body), weights=START | {"two": np.asarray(2), "count": np.asarray(100)}
    )
    network = read(model)
    assert sum(type(n.operator).__name__ == "Add" for n in network.nodes) == 3
    agree(run(network), right(model))


def test_subgraphs_within_subgraphs() -> None:
    inner = loop_of(
        (node("Identity", ["c"], ["go"]), node("Add", ["v", "outer"], ["v2"]))
    )
    branch = graph(
        [
            node("Neg", ["x"], ["outer"]),
            node("Loop", ["count", "true", "outer"], ["z"], body=inner.attribute[0].g),
        ],
        (),
        [info("z")],
    )
    branches = BRANCHES | {"then_branch": branch}
    model = model_of(node("If", ["true"], ["y"], **branches), weights=START)
    agree(run(read(model)), right(model))
    dynamic = model_of(
        *DECIDED[:2],
        node("If", ["p"], ["y"], **branches),
        weights=START | {"zero": np.float32(0)},
    )
    for x in abs(X), -abs(X):
        agree(run(read(dynamic), x), right(dynamic, x))


UNTIL = (
    node("Mul", ["v", "two"], ["v2"]),
    node("ReduceMax", ["v2"], ["largest"], keepdims=0),
    node("Less", ["largest", "hundred"], ["go"]),
)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_run_ends_a_loop(name: str) -> None:
    weights = START | {
        "two": np.float32(2),
        "hundred": np.float32(100),
        "count": np.asarray(1000),
    }
    model = model_of(
        loop_of(UNTIL),
        node("ReduceSum", ["y"], ["loss"], keepdims=0),
        weights=weights,
        outputs="y2 loss0",
    )
    network = read(model)
    assert [type(n.operator).__name__ for n in network.nodes] == ["Loop", "ReduceSum"]
    for x in abs(X), 7 * abs(X):
        agree(run(network, x, name), right(model, x))
    agree(
        run(
            read(model_of(loop_of(UNTIL), weights=weights | {"count": np.asarray(2)})),
            X,
            name,
        ),
        [4 * X],
    )


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_gradient_through_a_loop_that_a_run_ends(name: str) -> None:
    """Other data let it run another number of rounds."""
    weights = START | {
        "two": np.linspace(1.5, 2, 4, dtype="f4"),
        "hundred": np.float32(100),
    }
    network = read(
        model_of(
            loop_of(UNTIL),
            node("ReduceSum", ["y"], ["loss"], keepdims=0),
            outputs="loss0",
            weights=weights | {"count": np.asarray(1000)},
        )
    )
    assert network.trainable == ["two"]
    executor = framework(name).executor(network)
    two = np.asarray(weights["two"])
    for x in abs(X), 7 * abs(X), abs(X):
        rounds = next(n for n in range(1, 100) if (x * two**n).max() >= 100)
        executor.inference_and_backprop({"x": x})
        found = executor.framework.array(executor.gradients["two"])
        np.testing.assert_allclose(
            found, (rounds * x * two ** (rounds - 1)).sum(0), rtol=1e-4
        )


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_rows_that_a_run_counts(name: str) -> None:
    """By data, and by an input; none at all too."""
    rows = loop_of((*UNTIL, node("Neg", ["v"], ["row"])), ["row"], more=["rows"])
    weights = {
        "true": np.asarray(True),
        "two": np.float32(2),
        "hundred": np.float32(100),
    }
    count = info("count", (), TensorProto.INT64)
    model = model_of(rows, weights=weights, more=[count], outputs="y2 rows3")
    network = read(model)
    executor = framework(name).executor(network)
    for x, most in (abs(X), 50), (7 * abs(X), 50), (X, 2), (X, 0):
        limit = np.asarray(most)
        found = executor.inference({"x": x, "count": limit})
        arrays = [executor.framework.array(found[output]) for output in network.outputs]
        agree(arrays, right(model, x, count=limit))


def test_rows_of_a_shape_that_the_file_does_not_say() -> None:
    """All is well as long as there is one."""
    loop = loop_of(
        (*COUNTED[:-1], node("Sub", ["v2", "x"], ["row"])), ["row"], more=["rows"]
    )
    loop.attribute[0].g.output[-1].type.tensor_type.ClearField("shape")
    count = info("count", (), TensorProto.INT64)
    weights = {"true": np.asarray(True), "w": np.ones(4, "f4")}
    model = model_of(loop, weights=weights, more=[count], outputs="y2 rows3")
    network = read(model)
    executor = framework("reference").executor(network)
    found = executor.inference({"x": X, "count": np.asarray(3)})
    agree(
        [found[name] for name in network.outputs], right(model, X, count=np.asarray(3))
    )
    with pytest.raises(
        Unsupported, match="does not run once, and the file does not say"
    ):
        executor.inference({"x": X, "count": np.asarray(0)})


def test_a_loop_that_a_run_does_not_end_is_said() -> None:
    forever = (node("Identity", ["c"], ["go"]), node("Neg", ["v"], ["v2"]))
    rows = (*forever, node("Neg", ["v"], ["row"]))
    count = info("count", (), TensorProto.INT64)
    model = model_of(
        loop_of(rows, ["row"], more=["rows"]),
        weights={"true": np.asarray(True)},
        more=[count],
        outputs="y2 rows3",
    )
    executor = framework("reference").executor(read(model))
    with pytest.raises(Unsupported, match="would write out more than 10000 nodes"):
        executor.inference({"x": X, "count": np.asarray(10**9)})


def scan(**attributes: Any) -> onnx.NodeProto:
    body = graph(
        [node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "w"], ["o"])],
        [info("s", ()), info("r", ())],
        [info("t", ()), info("o", ())],
        {"w": np.float32(3)},
    )
    return node(
        "Scan",
        ["start", "row"],
        ["y", "rows"],
        body=body,
        num_scan_inputs=1,
        **attributes,
    )


@pytest.mark.parametrize(
    "attributes",
    [{}, {"scan_input_directions": [1]}, {"scan_output_directions": [1]}],
    ids=str,
)
def test_a_scan_is_written_out(attributes: dict) -> None:
    pick = node("Gather", ["x", "one"], ["row"])
    model = model_of(
        pick,
        scan(**attributes),
        weights={"one": np.asarray(1), "start": np.float32(0.5)},
        outputs="y0 rows1",
    )
    agree(run(read(model)), right(model))
    total = 0.5 + np.cumsum(
        X[1, ::-1] if "scan_input_directions" in attributes else X[1]
    )
    want = 3 * (total[::-1] if "scan_output_directions" in attributes else total)
    np.testing.assert_allclose(run(read(model))[1], want, rtol=1e-5)


def test_a_scan_along_other_axes() -> None:
    body = graph(
        [node("Add", ["s", "r"], ["t"]), node("Neg", ["r"], ["o"])],
        [info("s", (3,)), info("r", (3,))],
        [info("t", (3,)), info("o", (3,))],
    )
    model = model_of(
        node(
            "Scan",
            ["start", "x"],
            ["y", "rows"],
            body=body,
            num_scan_inputs=1,
            scan_input_axes=[1],
            scan_output_axes=[1],
        ),
        weights={"start": np.zeros(3, "f4")},
        outputs="y1 rows2",
    )
    agree(run(read(model)), [X.sum(1), -X])
    agree(run(read(model)), right(model))


def test_a_scan_over_nothing() -> None:
    body = graph(
        [node("Add", ["s", "r"], ["t"]), node("Neg", ["r"], ["o"])],
        [info("s", (3,)), info("r", (3,))],
        [info("t", (3,)), info("o", (3,))],
    )
    model = model_of(
        node(
            "Scan",
            ["start", "none"],
            ["y", "rows"],
            body=body,
            num_scan_inputs=1,
            scan_input_axes=[1],
            scan_output_axes=[1],
        ),
        outputs="y1 rows2",
        weights={"start": np.arange(3, dtype="f4"), "none": np.zeros((3, 0), "f4")},
    )
    start, rows = run(read(model))
    assert (
        start.tolist() == [0, 1, 2]
        and rows.shape == (3, 0)
        and rows.dtype == np.float32
    )


REFUSED = {
    "unrolls too far": (
        model_of(
            loop_of(COUNTED, weights={"w": np.ones(4, "f4")}),
            weights=START | {"count": np.asarray(1 << 40)},
        ),
        "more than 500 nodes",
    ),
    "never ends": (
        model_of(
            node(
                "Loop",
                ["", "", "x"],
                ["y"],
                body=loop_of(
                    (
                        node(
                            "Constant",
                            [],
                            ["go"],
                            value=numpy_helper.from_array(np.asarray(True)),
                        ),
                        node("Identity", ["v"], ["v2"]),
                    )
                )
                .attribute[0]
                .g,
            )
        ),
        "more than 500 nodes",
    ),
    "Scan of opset 8": (
        model_of(
            node(
                "Scan",
                ["", "x", "x"],
                ["y"],
                num_scan_inputs=1,
                body=graph(
                    [node("Add", ["s", "r"], ["t"])],
                    [info("s", (4,)), info("r", (4,))],
                    [info("t", (4,))],
                ),
            ),
            opset=8,
        ),
        "opset 8",
    ),
    "a branch too few": (
        model_of(
            node("If", ["true"], ["y"], then_branch=BRANCHES["else_branch"]),
            weights=START,
        ),
        "else_branch",
    ),
    "branches that differ": (
        model_of(
            node(
                "If",
                ["true"],
                ["y"],
                **BRANCHES
                | {
                    "else_branch": graph(
                        [node("Neg", ["x"], ["c"])], (), [info("c"), info("c")]
                    )
                },
            ),
            weights=START | SQUARE,
        ),
        "different numbers of outputs",
    ),
    "a branch without outputs": (
        model_of(
            node("If", ["true"], ["y"], **BRANCHES | {"else_branch": graph([])}),
            weights=START | SQUARE,
        ),
        "0 inputs and 0 outputs, where it needs 0 and 1",
    ),
    "a condition of floats": (
        model_of(node("If", ["x"], ["y"], **BRANCHES), weights=SQUARE),
        r"float32\[3, 4\], where one bool",
    ),
    "two counts": (
        model_of(
            loop_of(COUNTED, weights={"w": np.ones(4, "f4")}),
            weights=START | {"count": np.asarray([1, 2])},
        ),
        r"int64\[2\], where one int64",
    ),
    "a body without inputs": (
        model_of(
            node(
                "Loop",
                ["count", "true", "x"],
                ["y"],
                body=graph([node("Neg", ["x"], ["c"])], (), [info("c")]),
            ),
            weights=START | {"count": np.asarray(2)},
        ),
        "0 inputs and 1 outputs, where it needs 3 and 2",
    ),
}
for name, number, attributes, said in (
    ("scans nothing", 0, {}, "scans 0 of its 2 inputs"),
    ("scans too much", 9, {}, "scans 9 of its 2 inputs"),
    ("scans another axis", 1, {"scan_input_axes": [7]}, "along axis 7"),
    ("scans somewhere", 1, {"scan_input_directions": [5]}, r"\[0\] and \[5\]"),
    ("scans twice", 1, {"scan_output_axes": [0, 0]}, "needs 0 scan_output_axes"),
):
    REFUSED[name] = (
        model_of(
            node(
                "Scan",
                ["start", "x"],
                ["y"],
                num_scan_inputs=number,
                body=graph(
                    [node("Add", ["s", "r"], ["t"])],
                    [info("s", (4,)), info("r", (4,))],
                    [info("t", (4,))],
                ),
                **attributes,  # type: ignore[arg-type]
            ),
            weights={"start": np.zeros(4, "f4")},
            outputs="y1",
        ),
        said,
    )


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_written_out_is_said(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST", 500)
    model, text = REFUSED[case]
    with pytest.raises(Deep500Error, match=text) as error:
        read(model)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("back", [0, 1])
def test_a_scan_over_an_open_batch(name: str, back: int) -> None:
    body = graph(
        [node("Add", ["s", "r"], ["t"]), node("Mul", ["t", "w"], ["o"])],
        [info("s", (4,)), info("r", (4,))],
        [info("t", (4,)), info("o", (4,))],
        {"w": np.float32(3)},
    )
    model = model_of(
        node(
            "Scan",
            ["start", "x"],
            ["y", "rows"],
            body=body,
            num_scan_inputs=1,
            scan_input_directions=[back],
            scan_output_axes=[1],
            scan_output_directions=[back],
        ),
        weights={"start": np.zeros(4, "f4")},
        outputs="y1 rows2",
    )
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    network = read(model)
    for x in X, X[:2], np.concatenate([X, X]):
        agree(run(network, x, name), right(model, x))


class BothBranches(NumpyNamespace):
    """Runs both branches, as a recorder does, and then fails in its own way."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error

    def cond(self, condition: Any, then: Any, other: Any, *xs: Any) -> Any:
        results = then(*xs), other(*xs)
        if self.error is not None:
            raise self.error
        return results[0]


def test_unlike_branches_do_not_hide_another_failure() -> None:
    x = np.ones((2, 3), "float32")
    sum_of = Node("sum", find("operators", "ReduceSum")(), ("x", None), ("s",))
    same = Node("same", find("operators", "Identity")(), ("x",), ("t",))
    branches = Subgraph(("x",), (same,), ("t",)), Subgraph(("x",), (sum_of,), ("s",))
    operator = If(*branches)
    for error in (Deep500Error("shape inference failed"), KeyError("ours")):
        with pytest.raises(type(error)) as caught:
            operator.forward(BothBranches(error), np.array(True), x)
        assert caught.value is error
    for refusal in (TypeError("branches differ"), None):
        with pytest.raises(Unsupported, match="the branches of an If make the shapes"):
            operator.forward(BothBranches(refusal), np.array(True), x)
