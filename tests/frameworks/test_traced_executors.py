"""The executors of JAX and TensorFlow, which trace a network once and run what they traced: the same promises."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from deep500.contracts.framework import Framework
from deep500.contracts.network import Network
from deep500.contracts.operator import Operator
from deep500.contracts.optimizer import Optimizer, State
from deep500.datasets.synthetic_images import SyntheticImages
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.networks import DigitsCnn
from deep500.operators import Relu
from deep500.optimizers import SGD, Adam

REFERENCE = framework("reference")
# no two pixels are equal, so that rounding decides no maximum
TRAIN = SyntheticImages(100).load()["train"]
BATCH = 6


@pytest.fixture(params=["jax", "tensorflow"])
def engine(request: pytest.FixtureRequest) -> Framework:
    if not (found := framework(request.param)).available():
        pytest.skip(f"{request.param} is not installed")
    found.set_threads(1)
    return found


def batch(i: int, dtype: str = "float64", size: int = BATCH) -> dict[str, np.ndarray]:
    found = TRAIN.batch(np.arange(i * BATCH, i * BATCH + size))
    return {"x": found["x"].astype(dtype), "label": found["label"]}


class PlainRelu(Operator):
    """A Relu that no framework has a kernel for: runs by its formula and its derivative."""

    def forward(self, xp, x):
        return xp.relu(x)

    def backward(self, xp, dy, x):
        return xp.where(x > 0, dy, xp.zeros_like(dy))


class WrongRelu(PlainRelu):
    """Its derivative is 1 % off."""

    def backward(self, xp, dy, x):
        return super().backward(xp, 1.01 * dy, x)


def normalised(relu: Operator | None = None, dtype: str = "float64") -> Network:
    """A network with running statistics: dense, BatchNormalization, Relu, dense."""
    rng, network = np.random.default_rng(0), Network("normalised")
    for name, shape in {
        "w1": (8, 64),
        "w2": (10, 8),
        "scale": (8,),
        "shift": (8,),
    }.items():
        network.add_param(name, rng.standard_normal(shape).astype(dtype))
    network.add_param("mean", np.zeros(8, dtype), trainable=False)
    network.add_param("var", np.ones(8, dtype), trainable=False)
    # which nothing changes
    network.add_param("factor", np.full((), 1.5, dtype), trainable=False)
    x, label = (
        network.add_input("x", (0, 1, 8, 8), dtype),
        network.add_input("label", (0,), "int64"),
    )
    hidden = network.add_node(
        "Gemm", (network.add_node("Reshape", (x, (0, -1))), "w1"), transB=1
    )
    hidden = network.add_node(
        "BatchNormalization",
        (hidden, "scale", "shift", "mean", "var"),
        ("normal", "new_mean", "new_var"),
        training_mode=1,
        momentum=0.8,
    )
    hidden = network.add_node(
        "Mul", (network.add_node(relu or Relu(), (hidden,)), "factor")
    )
    logits = network.add_node("Gemm", (hidden, "w2"), ["logits"], transB=1)
    network.add_node("SoftmaxCrossEntropyLoss", (logits, label), ["loss"])
    network.add_node("SoftmaxCrossEntropyLoss", ("normal", label), ["other"])
    network.state_updates = {"mean": "new_mean", "var": "new_var"}
    network.outputs = ["loss", "logits"]
    return network


NETWORKS: dict[str, Callable[[], Network]] = {
    "cnn": lambda: DigitsCnn((2, 4), (12, 8)).build((1, 8, 8), 10, dtype="float64"),
    "normalised": normalised,
    "composed": lambda: normalised(PlainRelu()),
}


class ByTensor(Optimizer):
    """A rule that is not elementwise, with a number as state besides an array that starts as the parameter itself."""

    elementwise = False

    def init(self, xp: Any, param: Any) -> State:
        return {"count": xp.zeros((), param.dtype), "start": param}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        size = xp.sqrt(xp.sum(xp.square(grad))) + 1
        moved = param - 0.05 * grad / size + 0.01 * (state["start"] - param)
        return moved, {"count": state["count"] + 1, "start": state["start"]}


def distance(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """The largest relative difference between arrays of the same names."""
    assert a.keys() == b.keys()
    pairs = [(np.asarray(a[name]), np.asarray(b[name])) for name in a]
    return max(float(np.abs(x - y).max() / (np.abs(y).max() or 1)) for x, y in pairs)


def same_bits(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(
        x.dtype == b[n].dtype and x.tobytes() == b[n].tobytes() for n, x in a.items()
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_the_references(engine: Framework, name: str) -> None:
    ours, theirs = (
        engine.executor(NETWORKS[name]()),
        REFERENCE.executor(NETWORKS[name]()),
    )
    assert (
        distance(
            ours.inference_and_backprop(batch(0)),
            theirs.inference_and_backprop(batch(0)),
        )
        < 1e-13
    )
    assert list(ours.gradients) == ours.structure.trainable
    assert list(ours.inference_and_backprop(batch(0))) == ["loss", "logits"]
    theirs.inference_and_backprop(batch(0))
    assert distance(ours.gradients, theirs.gradients) < 1e-12
    # running statistics among them
    assert distance(ours.arrays(), theirs.arrays()) < 1e-12
    assert distance(ours.inference(batch(1)), theirs.inference(batch(1))) < 1e-12
    assert ours.kernels().get("PlainRelu", "composed") == "composed"


def test_a_wrong_derivative_is_seen(engine: Framework) -> None:
    ours, right = (
        engine.executor(normalised(WrongRelu())),
        REFERENCE.executor(normalised(PlainRelu())),
    )
    for executor in (ours, right):
        executor.inference_and_backprop(batch(0))
    assert distance(ours.gradients, right.gradients) > 1e-3


def test_gradients_of_another_value(engine: Framework) -> None:
    """One that is no output, and zeros for parameters that it does not depend on."""
    ours, theirs = engine.executor(normalised()), REFERENCE.executor(normalised())
    assert ours.inference_and_backprop(batch(0), "other").keys() == {"loss", "logits"}
    theirs.inference_and_backprop(batch(0), "other")
    for name, gradient in theirs.gradients.items():
        assert np.allclose(
            engine.array(ours.gradients[name]), gradient, rtol=1e-11, atol=1e-13
        )
    assert not np.any(engine.array(ours.gradients["w2"]))


@pytest.mark.parametrize(
    "rule", [Adam(), ByTensor()], ids=lambda rule: type(rule).__name__
)
def test_a_resumed_run_goes_on_with_the_same_bits(
    engine: Framework, rule: Optimizer
) -> None:
    first = engine.executor(normalised(dtype="float32"))
    step = first.training_step(rule)
    for i in range(3):
        step(batch(i, "float32"))
    arrays, state = first.arrays(), step.state()
    second = engine.executor(normalised(dtype="float32"))
    resumed = second.training_step(rule)
    second.load(arrays)
    resumed.load_state(state)
    assert same_bits(resumed.state(), state)
    kept = {name: value.copy() for name, value in (arrays | state).items()}
    for i in range(3, 6):
        a, b = (
            engine.array(run(batch(i, "float32"))["loss"]) for run in (step, resumed)
        )
        assert a.dtype == np.float32 and a.tobytes() == b.tobytes()
    assert same_bits(first.arrays(), second.arrays()) and same_bits(
        step.state(), resumed.state()
    )
    assert not same_bits(first.arrays(), arrays) and state["step"] == 3
    # steps write into memory again, but not into what was handed out
    assert same_bits(arrays | state, kept)


@pytest.mark.parametrize(
    "rule", [Adam(), ByTensor()], ids=lambda rule: type(rule).__name__
)
def test_states_are_those_of_the_reference(engine: Framework, rule: Optimizer) -> None:
    """So that a run may be taken from one framework to another."""
    ours, theirs = (
        fw.executor(normalised()).training_step(rule) for fw in (engine, REFERENCE)
    )
    for i in range(3):
        assert distance(ours(batch(i)), theirs(batch(i))) < 1e-12
    assert {n: v.shape for n, v in ours.state().items()} == {
        n: v.shape for n, v in theirs.state().items()
    }
    ours.load_state(theirs.state())
    assert same_bits(ours.state(), theirs.state())


def test_arrays_that_do_not_fit_are_refused(engine: Framework) -> None:
    executor = engine.executor(normalised())
    arrays, step = executor.arrays(), executor.training_step(Adam())
    with pytest.raises(Deep500Error, match="w1"):
        executor.load({name: value for name, value in arrays.items() if name != "w1"})
    with pytest.raises(
        Deep500Error, match=r"'w1' is float64\[64, 8\], expected float64\[8, 64\]"
    ):
        executor.load(arrays | {"w1": arrays["w1"].T})
    with pytest.raises(Deep500Error, match="step"):
        step.load_state({})


def test_training_moves_the_running_statistics_and_evaluation_does_not(
    engine: Framework,
) -> None:
    executor = engine.executor(normalised())
    hidden = batch(0)["x"].reshape(BATCH, -1) @ executor.arrays()["w1"].T
    step = executor.training_step(SGD(0.0))
    seen = engine.array(step(batch(0))["logits"])
    after = executor.arrays()
    assert np.allclose(after["mean"], 0.2 * hidden.mean(0), rtol=1e-12)
    assert np.allclose(after["var"], 0.8 + 0.2 * hidden.var(0), rtol=1e-12)
    executor.training = False
    fixed = [
        engine.array(run(batch(0))["logits"])
        for run in (step, executor.inference_and_backprop, executor.inference)
    ]
    assert np.allclose(fixed[0], fixed[2], rtol=1e-12) and np.allclose(
        fixed[1], fixed[2], rtol=1e-12
    )
    assert not np.allclose(fixed[0], seen, rtol=1e-3)
    assert same_bits(executor.arrays(), after)


def test_inputs_may_be_native_or_numpy_of_any_kind(engine: Framework) -> None:
    executor, given = engine.executor(normalised(dtype="float32")), batch(0, "float32")
    expected = engine.array(executor.inference(given)["loss"])
    frozen, wide = given["x"].copy(), np.asfortranarray(given["x"].astype("float64"))
    frozen.flags.writeable = False
    natives = [engine.tensor(given["x"]), engine.tensor(wide)]
    for x in (*natives, frozen, wide, given["x"][::-1][::-1], given["x"].tolist()):
        label = given["label"].astype("int32")
        assert (
            engine.array(executor.inference({"x": x, "label": label})["loss"])
            == expected
        )
    assert executor.inference({"x": given["x"]}).keys() == {"logits"}


def test_a_batch_may_be_written_over_after_the_step(engine: Framework) -> None:
    ours, right = (engine.executor(normalised()) for _ in range(2))
    step, careful = ours.training_step(Adam()), right.training_step(Adam())
    buffers = batch(0)
    for i in range(4):
        for name, value in batch(i).items():
            buffers[name][...] = value
        kept, wanted = step(buffers), careful(batch(i))
        for value in buffers.values():
            value[...] = 0
        assert engine.array(kept["loss"]) == engine.array(wanted["loss"])
    assert same_bits(ours.arrays(), right.arrays())


def test_values_that_were_taken_out_stay(engine: Framework) -> None:
    executor = engine.executor(normalised())
    step = executor.training_step(Adam())
    view = engine.array(executor.params["w1"])
    before = view.copy()
    step(batch(0))
    assert np.array_equal(view, before) and not np.array_equal(
        executor.arrays()["w1"], before
    )


def test_the_view_of_the_network_feeds_and_fetches(engine: Framework) -> None:
    executor = engine.executor(normalised())
    executor.inference_and_backprop(batch(0))
    executor.network.feed_tensor("shift", np.full(8, 2.0))
    value, found = executor.network.fetch_tensors(["shift", "shift.grad"])
    assert (engine.array(value) == 2).all() and engine.array(found).shape == (8,)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"x": np.zeros((2, 64)), "label": np.zeros(2, "int64")},
            r"'x' has the shape \(2, 64\)",
        ),
        (
            {"x": np.zeros((2, 1, 8, 8)), "label": np.zeros(3, "int64")},
            "different sizes of 'batch'",
        ),
        ({"x": np.zeros((2, 1, 8, 8))}, "'label' is missing"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    engine: Framework, inputs: dict, message: str
) -> None:
    executor = engine.executor(normalised())
    for run in (executor.inference_and_backprop, executor.training_step(SGD(0.1))):
        with pytest.raises(Deep500Error, match=message):
            run(inputs)


def test_what_cannot_be_differentiated_is_refused(engine: Framework) -> None:
    executor = engine.executor(normalised())
    with pytest.raises(Deep500Error, match="a single number"):
        executor.inference_and_backprop(batch(0), "logits")
    with pytest.raises(Deep500Error, match="no value is named 'lost'"):
        executor.inference_and_backprop(batch(0), "lost")
