"""Clean-up transformations: outputs and gradients stay, what changes nothing goes, and near misses are left alone."""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from deep500 import transformations
from deep500.contracts.network import Network
from deep500.contracts.transformation import CLEAN_UP, apply_all
from deep500.frameworks import framework
from deep500.frameworks.pytorch import FRAMEWORK as PYTORCH
from deep500.frameworks.reference import FRAMEWORK as REFERENCE

HIDDEN = -math.inf
ROOT = math.sqrt(2)


@dataclass(frozen=True)
class Example:
    """A network that ends in `y`, the transformation that is for it, and the operators that it leaves."""

    transformation: str
    build: Callable[["Builder"], str]
    left: dict[str, int]
    dtypes: tuple[str, ...] = ("float32", "float64")


class Builder:
    """A network with an input x of 2 x 3 x 4 and a trained weight of that shape in front of it."""

    def __init__(self, dtype: str, batch: int | str = 2):
        self.dtype = dtype
        self.network = Network("example")
        self.draw = np.random.default_rng(0)
        self.network.add_input("x", (batch, 3, 4), dtype)
        self.x = self.add("Mul", "x", self.param("w", (3, 4)))

    def param(self, name: str, shape: tuple[int, ...]) -> str:
        value = np.asarray(self.draw.standard_normal(shape), self.dtype)
        return self.network.add_param(name, value)

    def constant(self, value, dtype: str | None = None) -> str:
        name = f"c{len(self.network.params)}"
        array = np.asarray(value, dtype or self.dtype)
        return self.network.add_param(name, array, trainable=False)

    def add(self, operator: str, *inputs, **attributes) -> str:
        return self.network.add_node(operator, inputs, **attributes)

    def finish(self, y: str) -> Network:
        """With a loss whose gradient by y differs from element to element."""
        weighted = self.add("Mul", self.add("Sin", y), y)
        loss = self.add("ReduceMean", weighted, keepdims=0)
        self.network.add_output(self.network.add_node("Identity", (loss,), ["loss"]))
        return self.network


def identities(b):
    cast = b.add("CastLike", b.add("Identity", b.x), b.x)
    moved = b.add("Transpose", b.add("Reshape", cast, (2, 3, 4)), perm=(0, 1, 2))
    one = b.add("CastLike", b.constant(1, "int64"), b.x)
    return b.add("Div", b.add("Mul", one, b.add("Expand", moved, (3, 1))), one)


def changes(b):
    """All the same operators, each of which does something."""
    half = b.add("Mul", b.add("Expand", b.x, (2, 1, 3, 4)), b.constant(1.0001))
    moved = b.add("Transpose", b.add("Reshape", half, (4, 3, 4)), perm=(0, 2, 1))
    like = b.constant(0, "float16")
    rounded = b.add("CastLike", moved, like)
    return b.add("CastLike", rounded, b.x)


def expanding_one(b):
    """A one with more axes than the other factor."""
    return b.add("Mul", b.x, b.constant(np.ones((1, 1, 1, 1))))


def convolution(b, bias):
    zeros = b.add("Expand", b.add("CastLike", b.constant(bias), b.x), (5,))
    return b.add("Conv", b.x, b.param("kernels", (5, 3, 2)), zeros)


def softplus(b, beta=1.0, threshold=20.0, other=None):
    x = b.add("Mul", b.x, b.constant(30.0))  # on both sides of the threshold
    scaled = b.add("Mul", x, b.constant(beta))
    smooth = b.add("Div", b.add("Softplus", scaled), b.constant(beta))
    is_large = b.add("Greater", scaled, b.constant(threshold))
    return b.add("Where", is_large, other or x, smooth)


def logarithm(b, one):
    return b.add("Log", b.add("Add", b.constant(one), b.add("Exp", b.x)))


def erf_gelu(b, root=ROOT, half=0.5):
    bend = b.add(
        "Add", b.add("Erf", b.add("Div", b.x, b.constant(root))), b.constant(1)
    )
    return b.add("Mul", b.x, b.add("Mul", b.constant(half), bend))


def tanh_gelu(b, cube=0.044715, power=3.0):
    cubic = b.add("Mul", b.constant(cube), b.add("Pow", b.x, b.constant(power)))
    inner = b.add("Mul", b.add("Add", b.x, cubic), b.constant(math.sqrt(2 / math.pi)))
    bend = b.add("Add", b.add("Tanh", inner), b.constant(1))
    return b.add("Mul", b.add("Mul", b.x, b.constant(0.5)), bend)


def attention(
    b, joined=False, mask=None, perm=(0, 1, 3, 2), axis=-1, shared_heads=False
):
    """Two heads of size 2 over three places, from x."""
    q, k, v = (
        heads(b, b.add("Mul", b.x, b.param(n, (3, 4)))) for n in ("wq", "wk", "wv")
    )
    if shared_heads:
        k = b.add("Slice", k, (0,), (1,), (1,))
    if joined:
        flat = b.add("Reshape", k, (-1, 3, 2))
        transposed = b.add(
            "Reshape", b.add("Transpose", flat, perm=(0, 2, 1)), (2, 2, 2, 3)
        )
    else:
        transposed = b.add("Transpose", k, perm=perm)
    root = b.constant(0.8)
    scores = b.add("MatMul", b.add("Mul", q, root), b.add("Mul", transposed, root))
    if mask is not None:
        scores = b.add("Add", scores, mask(b))
    weights = b.add("Softmax", scores, axis=axis)
    return b.add("MatMul", weights, v)


def heads(b, x):
    return b.add("Transpose", b.add("Reshape", x, (2, 3, 2, 2)), perm=(0, 2, 1, 3))


def causal(b):
    ones = b.add("Trilu", b.add("Expand", b.constant(1.0), (3, 3)), upper=0)
    is_hidden = b.add("Equal", ones, b.constant(0.0))
    return b.add("Where", is_hidden, b.constant(HIDDEN), b.constant(0.0))


def trained_mask(b):
    return b.param("bias", (2, 3, 3))


def falling_mask(b):
    return b.constant(np.triu(np.full((3, 3), -9.0), 1))


def one_column(b):
    return b.constant(np.zeros((3, 1)))


def select(b, places, axis=1):
    return b.add("Gather", b.x, b.constant(places, "int64"), axis=axis)


# of a builder by itself
BASE = Counter({"Mul": 2, "Sin": 1, "ReduceMean": 1, "Identity": 1})
HEADS = {"Mul": 3, "Reshape": 3, "Transpose": 3, "Attention": 1}
SOFTPLUS = {"Mul": 2, "Softplus": 1, "Div": 1}
EXAMPLES = {
    "identities": Example("RemoveNoOps", identities, {}),
    "zero bias": Example(
        "RemoveZeroBiases", lambda b: convolution(b, 0.0), {"Conv": 1}
    ),
    "softplus": Example("FuseSoftplus", softplus, SOFTPLUS, ("float32",)),
    "softplus of 2 x": Example(
        "FuseSoftplus", lambda b: softplus(b, 2.0), SOFTPLUS, ("float32",)
    ),
    "softplus in float64": Example(
        "FuseSoftplus", lambda b: softplus(b, threshold=40.0), SOFTPLUS, ("float64",)
    ),
    "log(1 + exp)": Example(
        "FuseSoftplus", lambda b: logarithm(b, 1.0), {"Softplus": 1}
    ),
    "erf": Example("FuseGelu", erf_gelu, {"Gelu": 1}),
    "tanh": Example("FuseGelu", tanh_gelu, {"Gelu": 1}),
    "attention": Example("FuseAttention", attention, HEADS),
    "joined heads": Example(
        "FuseAttention", lambda b: attention(b, joined=True), HEADS
    ),
    "causal": Example("FuseAttention", lambda b: attention(b, mask=causal), HEADS),
    "trained mask": Example(
        "FuseAttention", lambda b: attention(b, mask=trained_mask), HEADS
    ),
    "finite mask": Example(
        "FuseAttention", lambda b: attention(b, mask=falling_mask), HEADS
    ),
    "one row": Example(
        "SliceConstantGathers", lambda b: select(b, -1), {"Slice": 1, "Squeeze": 1}
    ),
    "neighbours": Example(
        "SliceConstantGathers", lambda b: select(b, [1, 2], 2), {"Slice": 1}
    ),
    "all rows": Example("SliceConstantGathers", lambda b: select(b, [0, 1, 2]), {}),
}
NEAR_MISSES = {
    "casts and moves that matter": ("RemoveNoOps", changes),
    "a product that adds an axis": ("RemoveNoOps", expanding_one),
    "a bias": ("RemoveZeroBiases", lambda b: convolution(b, 1e-30)),
    "a low threshold": ("FuseSoftplus", lambda b: softplus(b, threshold=5.0)),
    "another value above": ("FuseSoftplus", lambda b: softplus(b, other=b.x)),
    "log(2 + exp)": ("FuseSoftplus", lambda b: logarithm(b, 2.0)),
    "another root": ("FuseGelu", lambda b: erf_gelu(b, 1.4142)),
    "another half": ("FuseGelu", lambda b: erf_gelu(b, half=0.49)),
    "another cube": ("FuseGelu", lambda b: tanh_gelu(b, 0.0447)),
    "another power": ("FuseGelu", lambda b: tanh_gelu(b, power=2.0)),
    "softmax over queries": ("FuseAttention", lambda b: attention(b, axis=-2)),
    "keys that heads share": (
        "FuseAttention",
        lambda b: attention(b, shared_heads=True),
    ),
    "a mask of one column": ("FuseAttention", lambda b: attention(b, mask=one_column)),
    "rows in another order": ("SliceConstantGathers", lambda b: select(b, [2, 1])),
    "rows apart": ("SliceConstantGathers", lambda b: select(b, [0, 2])),
}


def operators(network: Network) -> Counter[str]:
    return Counter(type(node.operator).__name__ for node in network.nodes)


def outcome(network: Network, engine, optimize: bool) -> dict[str, np.ndarray]:
    """Outputs and gradients of a batch."""
    executor = engine.executor(network, optimize=optimize)
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    results = dict(
        executor.inference_and_backprop({"x": x.astype(network.inputs["x"].dtype)})
    )
    results |= {f"{name}.grad": value for name, value in executor.gradients.items()}
    return {name: engine.array(value) for name, value in results.items()}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_results_stay_and_nodes_go(name, dtype):
    example = EXAMPLES[name]
    if dtype not in example.dtypes:
        pytest.skip(f"an example of {example.dtypes[0]}")
    builder = Builder(dtype)
    network = builder.finish(example.build(builder))
    names = [*network.inputs, *network.outputs, *network.params]
    smaller = getattr(transformations, example.transformation)()(network)
    assert operators(smaller) - BASE == example.left
    assert names == [*smaller.inputs, *smaller.outputs, *smaller.params]
    engine = REFERENCE if dtype == "float64" else PYTORCH
    expected, actual = (outcome(n, engine, optimize=False) for n in (network, smaller))
    assert expected.keys() == actual.keys()
    tolerance = 1e-11 if dtype == "float64" else 1e-4
    for key, value in expected.items():
        np.testing.assert_allclose(
            actual[key], value, tolerance, tolerance, err_msg=key
        )


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses_stay_as_they_are(name):
    transformation, build = NEAR_MISSES[name]
    builder = Builder("float32")
    network = builder.finish(build(builder))
    same = getattr(transformations, transformation)()(network)
    assert [*same.nodes] == [*network.nodes]


def test_float64_keeps_a_threshold_that_float32_does_not_notice():
    builder = Builder("float64")
    network = builder.finish(softplus(builder))
    assert operators(transformations.FuseSoftplus()(network))["Where"] == 1


def test_what_depends_on_the_batch_stays():
    builder = Builder("float32", "batch")
    network = builder.finish(builder.add("Expand", builder.x, (2, 1, 1)))
    assert operators(transformations.RemoveNoOps()(network))["Expand"] == 1
    same = builder.add("Expand", builder.x, (3, 4))
    builder.network.add_output(builder.add("Neg", same))
    smaller = transformations.RemoveNoOps()(builder.network)
    assert operators(smaller)["Expand"] == 1
    assert smaller.producer(smaller.outputs[-1]).inputs == (builder.x,)


def test_an_output_of_the_network_keeps_its_maker():
    network = Network("copy")
    network.add_input("x", (2,))
    network.add_output(network.add_node("Identity", ("x",), ["y"]))
    assert [*transformations.RemoveNoOps()(network).nodes] == [*network.nodes]


def test_parameters_that_are_trained_or_updated_are_no_constants():
    builder = Builder("float32")
    product = builder.add(
        "Mul", builder.x, builder.network.add_param("one", np.array([1], "float32"))
    )
    state = builder.constant(1.0)
    network = builder.finish(builder.add("Mul", product, state))
    network.state_updates[state] = "loss"
    assert operators(transformations.RemoveNoOps()(network)) == operators(network)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_executor_runs_what_is_left_and_speaks_of_the_network(name):
    example = EXAMPLES[name]
    builder = Builder(example.dtypes[0])
    network = builder.finish(example.build(builder))
    executor = PYTORCH.executor(network)
    assert [*executor.graph.nodes] != [*network.nodes] == [*executor.structure.nodes]
    assert [node.name for node in network.nodes] == [*executor.kernels()]
    expected = outcome(network, PYTORCH, optimize=False)
    for key, value in outcome(network, PYTORCH, optimize=True).items():
        np.testing.assert_allclose(value, expected[key], 1e-4, 1e-4, err_msg=key)


def test_a_constant_that_is_written_counts_from_then_on():
    builder = Builder("float32")
    factor = builder.constant(1.0)
    network = builder.finish(builder.add("Mul", builder.x, factor))
    executor = PYTORCH.executor(network)
    x = {"x": np.ones((2, 3, 4), "float32")}
    before = executor.inference(x)["loss"]
    executor.network.feed_tensor(factor, np.float32(3))
    network.feed_tensor(factor, np.float32(3))
    expected = PYTORCH.executor(network, optimize=False).inference(x)["loss"]
    assert executor.inference(x)["loss"] == expected != before
    network.feed_tensor(factor, np.float32(2))
    executor.load(network.params)
    expected = PYTORCH.executor(network, optimize=False).inference(x)["loss"]
    np.testing.assert_allclose(executor.inference(x)["loss"], expected, 1e-6)


def test_gradients_by_a_value_that_a_pass_removes():
    network = Network("inner")
    network.add_input("x", (3,))
    network.add_param("w", np.array([1, 2, 3], "float32"))
    total = network.add_node(
        "ReduceSum", (network.add_node("Mul", ("x", "w")),), keepdims=0
    )
    inner = network.add_node("Identity", (total,), ["inner"])
    network.add_output(network.add_node("Exp", (inner,), ["y"]))
    executor = PYTORCH.executor(network)
    executor.inference_and_backprop({"x": np.array([4, 5, 6], "float32")}, "inner")
    np.testing.assert_allclose(executor.gradients["w"], [4, 5, 6])


def test_the_passes_take_linear_time():
    """Counted in nodes that are looked at, not in seconds: ten times the layers, ten times the producers asked for."""
    looks = {}
    for layers in (20, 200):
        builder = Builder("float32")
        value = builder.x
        for _ in range(layers):
            value = builder.add("Mul", builder.add("Identity", value), value)
        network = builder.finish(value)
        looks[layers] = calls_of_producer(network)
    assert looks[200] <= 12 * looks[20]


def calls_of_producer(network: Network) -> int:
    from deep500.transformations import _matching

    count = 0
    original = _matching.Rewriting.producer

    def counted(self, *arguments):
        nonlocal count
        count += 1
        return original(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_matching.Rewriting, "producer", counted)
        apply_all(CLEAN_UP, network)
    return count


@pytest.mark.parametrize("engine", ["reference", "jax", "tensorflow", "onnxruntime"])
def test_attention_trains_on_every_framework(engine):
    if not framework(engine).available():
        pytest.skip(f"{engine} is not installed")
    builder = Builder("float32")
    network = builder.finish(attention(builder, mask=causal))
    fused = transformations.FuseAttention()(network)
    expected = outcome(network, PYTORCH, optimize=False)
    for key, value in outcome(fused, framework(engine), optimize=True).items():
        np.testing.assert_allclose(value, expected[key], 1e-4, 1e-4, err_msg=key)
