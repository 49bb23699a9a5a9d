"""A function of JAX with its parameters through from_model."""

from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.frameworks import framework
from deep500.optimizers import SGD, Adam

jax = pytest.importorskip("jax")
JAX = framework("jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def one_thread() -> None:
    JAX.set_threads(1)


def params() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    weights = [
        rng.standard_normal(shape).astype("float32") for shape in ((6, 8), (8, 3))
    ]
    first = {"w": weights[0], "b": np.zeros(8, "float32"), "activation": "tanh"}
    return {"layer1": first, "layer2": [weights[1], np.arange(3)]}


def perceptron(params: Any, x: Any) -> Any:
    layer = params["layer1"]
    activation = {"tanh": jnp.tanh}[layer["activation"]]
    hidden = activation(x @ layer["w"] + layer["b"])
    weight, order = params["layer2"]
    return (hidden @ weight)[:, order]


def cross_entropy(output: Any, label: Any) -> Any:
    logits = jax.nn.log_softmax(output)
    return -jnp.mean(jnp.take_along_axis(logits, label[:, None], axis=1))


def batch(i: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(i)
    return {
        "x": rng.standard_normal((5, 6)).astype("float32"),
        "label": rng.integers(0, 3, 5),
    }


def by_hand(steps: int) -> Any:
    """The arrays that are trained, after steps of gradient descent."""
    start = params()
    trained = [start["layer1"]["w"], start["layer1"]["b"], start["layer2"][0]]

    def loss(trained: list, x: Any, label: Any) -> Any:
        w, b, last = trained
        layer = {"w": w, "b": b, "activation": "tanh"}
        output = perceptron({"layer1": layer, "layer2": [last, np.arange(3)]}, x)
        return cross_entropy(output, label)

    for i in range(steps):
        gradients = jax.jit(jax.grad(loss))(trained, batch(i)["x"], batch(i)["label"])
        trained = [
            value - 0.1 * gradient
            for value, gradient in zip(trained, gradients, strict=True)
        ]
    return trained


def test_steps_are_those_of_a_loop_by_hand() -> None:
    executor = JAX.from_model(perceptron, params=params(), loss=cross_entropy)
    step = executor.training_step(SGD(0.1))
    for i in range(4):
        step(batch(i))
    tree = executor.tree  # type: ignore[attr-defined]
    ours = [tree["layer1"]["w"], tree["layer1"]["b"], tree["layer2"][0]]
    for value, expected in zip(ours, by_hand(4), strict=True):
        assert np.allclose(value, expected, rtol=1e-5, atol=1e-6)
        assert not np.allclose(value, expected + 1e-3, rtol=1e-5)
    assert tree["layer1"]["activation"] == "tanh" and tree["layer2"][1].tolist() == [
        0,
        1,
        2,
    ]


def test_halves_are_the_whole() -> None:
    whole = JAX.from_model(perceptron, params=params(), loss=cross_entropy)
    parts = JAX.from_model(perceptron, params=params(), loss=cross_entropy)
    step, halves = whole.training_step(Adam()), parts.training_step(Adam())
    for i in range(3):
        step(batch(i))
        halves.backprop(batch(i))
        parts.load_flat_gradients(parts.flat_gradients())
        halves.update()
    for name, value in whole.arrays().items():
        assert np.allclose(value, parts.arrays()[name], rtol=1e-5, atol=1e-6)


def test_names_and_the_rest_of_the_interface() -> None:
    start = params()
    executor = JAX.from_model(perceptron, params=start, loss=cross_entropy)
    assert [*executor.structure.inputs] == ["x", "label"]
    assert executor.structure.outputs == ["output", "loss"]
    assert executor.network.get_params() == ["layer1/b", "layer1/w", "layer2/0"]
    assert [*executor.params] == ["layer1/b", "layer1/w", "layer2/0", "layer2/1"]
    assert [*executor.inference({"x": batch(0)["x"]})] == ["output"]
    executor.inference_and_backprop(batch(0))
    executor.network.feed_tensor("layer1/b", np.ones(8))
    value, gradient = executor.network.fetch_tensors(["layer1/b", "layer1/b.grad"])
    assert value.tolist() == [1.0] * 8 and gradient.shape == (8,)
    assert executor.flat_params().views()["layer1/b"].tolist() == [1.0] * 8
    executor.training_step(SGD(0.1))(batch(0))
    assert not start["layer1"]["b"].any()  # the user's own arrays are copied
    assert executor.kernels() == {"model": "native", "loss": "native"}


def test_our_loss_is_theirs() -> None:
    ours = JAX.from_model(perceptron, params=params(), loss=d5.losses.CrossEntropy())
    theirs = JAX.from_model(perceptron, params=params(), loss=cross_entropy)
    a, b = (one.inference_and_backprop(batch(0))["loss"] for one in (ours, theirs))
    assert np.allclose(a, b)
    for name, gradient in theirs.gradients.items():
        assert np.allclose(ours.gradients[name], gradient, atol=1e-6)


def test_several_inputs_and_outputs() -> None:
    def pair(weights: Any, a: Any, b: Any) -> Any:
        return {"sum": a + b * weights, "product": a * b}

    executor = JAX.from_model(
        pair, params=np.array([2], "f"), outputs=["product", "sum"]
    )
    arrays = {"a": np.array([1, 2], "f"), "b": np.array([3, 4], "f")}
    outputs = executor.inference(arrays)
    assert [*outputs] == ["product", "sum"] and outputs["product"].tolist() == [3, 8]
    assert executor.network.get_params() == ["params"] and outputs["sum"].tolist() == [
        7,
        10,
    ]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (
            3,
            {},
            "jax takes a function with params=…, a d5.Network or an ONNX model .*, not a int",
        ),
        (
            perceptron,
            {},
            r"comes with its parameters: from_model\(function, params=…\)",
        ),
        (
            perceptron,
            {"params": {}, "loss": 3},
            "loss is a int: give a function of output",
        ),
        (
            lambda params, *xs: xs,
            {"params": {}},
            "takes any number of inputs: name them",
        ),
    ],
)
def test_what_cannot_be_wrapped(
    model: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(d5.Deep500Error, match=message):
        JAX.from_model(model, **options)


def test_what_cannot_be_run() -> None:
    executor = JAX.from_model(perceptron, params=params(), loss=cross_entropy)
    with pytest.raises(
        d5.Deep500Error, match="the input 'label' is missing; these came: x"
    ):
        executor.inference_and_backprop({"x": batch(0)["x"]})
    with pytest.raises(
        d5.Deep500Error, match="has no output 'lost'; its outputs are: output"
    ):
        executor.inference_and_backprop(batch(0), "lost")
    with pytest.raises(d5.Deep500Error, match="a single number"):
        executor.inference_and_backprop(batch(0), "output")
