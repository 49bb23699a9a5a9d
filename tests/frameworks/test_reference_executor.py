"""The reference executor and the tape under it: gradients against finite differences, memory, modes, state."""

from typing import Any

import numpy as np
import pytest

from deep500.contracts.network import Network
from deep500.contracts.operator import Operator
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.graph import tape
from deep500.networks import DigitsCnn, Mlp
from deep500.optimizers.adam import Adam
from deep500.optimizers.sgd import SGD

REFERENCE = framework("reference")
RNG = np.random.default_rng(2)


class Halve(Operator):
    """Two outputs, both differentiable; only the test of the tape uses it."""

    outputs = ("low", "high")

    def forward(self, xp, x):  # an annotated x would be static
        return x / 2, x * 2

    def backward(self, xp, dlow, dhigh):
        return dlow / 2 + dhigh * 2


class Opaque(Operator):
    """An operator without a derivative."""

    def forward(self, xp, x):
        return x + 1


def digits(dtype: str = "float64") -> Network:
    return DigitsCnn(channels=(2, 3), hidden=(6, 5)).build(
        (1, 8, 8), 4, seed=1, dtype=dtype
    )


def batch(size: int = 6, dtype: str = "float64") -> dict[str, np.ndarray]:
    return {
        "x": RNG.standard_normal((size, 1, 8, 8)).astype(dtype),
        "label": RNG.integers(0, 4, size),
    }


def normalised() -> Network:
    network = Network("normalised")
    network.add_input("x", (0, 2), "float64")
    for name, value, trainable in (
        ("s", [1.5, 0.5], True),
        ("b", [0.0, 1.0], True),
        ("m", [0.0, 0.0], False),
        ("v", [1.0, 1.0], False),
        ("w", [[1.0, -2.0], [0.5, 3.0]], True),
    ):
        network.add_param(name, np.array(value), trainable)
    network.add_node(
        "BatchNormalization",
        ("x", "s", "b", "m", "v"),
        ["n", "m2", "v2"],
        training_mode=1,
        momentum=0.9,
    )
    network.add_input("label", (0,), "int64")
    network.add_node("MatMul", ("n", "w"), ["logits"])
    network.add_node("SoftmaxCrossEntropyLoss", ("logits", "label"), ["loss"])
    network.state_updates = {"m": "m2", "v": "v2"}
    network.add_output("loss")
    return network


def numerical(
    network: Network, inputs: dict[str, np.ndarray], name: str, index: tuple
) -> float:
    """Central differences of the loss in training mode."""
    losses = []
    for sign in (1, -1):
        twin = network.copy()
        twin.params[name][index] += sign * 1e-6
        losses.append(
            float(REFERENCE.executor(twin).inference_and_backprop(inputs)["loss"])
        )
    return (losses[0] - losses[1]) / 2e-6


@pytest.mark.parametrize("make", [digits, normalised])
def test_gradients_equal_finite_differences(make: Any) -> None:
    network = make()
    inputs = (
        batch()
        if "conv1.weight" in network.params
        else {"x": RNG.standard_normal((7, 2)), "label": RNG.integers(0, 2, 7)}
    )
    executor = REFERENCE.executor(network)
    executor.inference_and_backprop(inputs)
    assert list(executor.gradients) == network.trainable
    for name, gradient in executor.gradients.items():
        index = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
        assert gradient[index] == pytest.approx(
            numerical(network, inputs, name, index), rel=1e-5, abs=1e-8
        )


def test_a_wrong_gradient_would_show() -> None:
    network, inputs = digits(), batch()
    executor = REFERENCE.executor(network)
    executor.inference_and_backprop(inputs)
    wrong = 1.001 * executor.gradients["fc1.bias"]
    index = np.unravel_index(np.abs(wrong).argmax(), wrong.shape)
    assert wrong[index] != pytest.approx(
        numerical(network, inputs, "fc1.bias", index), rel=1e-5, abs=1e-8
    )


def diamond() -> Network:
    """y = sum over halves, one output of the first node unused, x used twice."""
    network = Network()
    network.add_input("seed", (1,), "float64")
    network.add_param("x", np.array([3.0]))
    network.add_node(Halve(), ("x",), ["low", "high"], name="halve")
    network.add_node("Mul", ("low", "x"), ["y"], name="product")  # y = x²/2
    network.add_output("y")
    return network


def test_values_used_twice_add_up_and_unused_outputs_count_as_zero() -> None:
    executor = REFERENCE.executor(diamond())
    executor.inference_and_backprop({}, "y")
    assert executor.gradients["x"] == [3.0]


def test_what_y_does_not_depend_on_has_zero_gradient_and_needs_no_derivative() -> None:
    network = diamond()
    network.add_param("alone", np.ones((2, 2)))
    network.add_param("fixed", np.array([1.0]), trainable=False)
    network.add_node("Add", ("y", network.add_node(Opaque(), ("fixed",))), ["z"])
    executor = REFERENCE.executor(network)
    executor.inference_and_backprop({}, "z")
    assert (executor.gradients["alone"] == 0).all() and executor.gradients["x"] == [3.0]
    network.add_node(Opaque(), ("z",), ["end"])
    with pytest.raises(Unsupported, match="Opaque"):
        REFERENCE.executor(network).inference_and_backprop({}, "end")


def held(entries: list[tape.TapeEntry]) -> int:
    """Bytes of the arrays on a tape."""
    arrays = {
        id(v): v
        for e in entries
        for v in (*e.inputs, *e.results)
        if isinstance(v, np.ndarray)
    }
    return sum(v.nbytes for v in arrays.values())


def test_the_tape_keeps_only_what_backward_asks_for() -> None:
    network = digits()
    nodes, _ = network.part(network.outputs)
    kept, entries = tape.forward(
        REFERENCE.xp, nodes, batch() | network.params, ["loss"]
    )
    assert list(kept) == ["loss"]
    by_name = {entry.node.name: entry for entry in entries}
    # Relu asks for its result alone
    assert isinstance(by_name["conv1.relu"].inputs[0], tape.Outline)
    assert isinstance(by_name["conv1.relu"].results[0], np.ndarray)
    assert isinstance(by_name["logits"].inputs[2], tape.Outline)
    assert isinstance(by_name["loss"].inputs[0], tape.Outline)
    assert held(entries) < 0.8 * held(_greedy(network))


def _greedy(network: Network) -> list[tape.TapeEntry]:
    """A tape that keeps everything."""
    values, found = batch() | network.params, []
    for node in network.ordered():
        inputs = tuple(values[i] if isinstance(i, str) else i for i in node.inputs)
        results = node.operator.run(REFERENCE.xp, *inputs)
        values |= zip(node.outputs, results, strict=False)
        found.append(tape.TapeEntry(node, inputs, results))
    return found


def test_statistics_move_in_training_alone() -> None:
    inputs = {"x": RNG.standard_normal((50, 2)) + 3, "label": RNG.integers(0, 2, 50)}
    executor = REFERENCE.executor(normalised())
    before = executor.inference(inputs)["loss"]
    assert (executor.params["m"] == 0).all()
    training = executor.inference_and_backprop(inputs)["loss"]
    assert training != before
    np.testing.assert_allclose(executor.params["m"], 0.1 * inputs["x"].mean(0))
    executor.training = False
    mean = executor.params["m"]
    assert (
        executor.inference_and_backprop(inputs)["loss"]
        == executor.inference(inputs)["loss"]
    )
    assert executor.params["m"] is mean


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_keeps_the_precision_and_learns(dtype: str) -> None:
    inputs = batch(8, dtype)
    executor = REFERENCE.executor(digits(dtype))
    step = executor.training_step(Adam(learning_rate=0.01))
    losses = [float(step(inputs)["loss"]) for _ in range(30)]
    assert losses[-1] < losses[0] / 2
    assert {
        value.dtype.name
        for value in (*executor.params.values(), *executor.gradients.values())
    } == {dtype}


def test_a_step_is_the_rule() -> None:
    network, inputs = Mlp(hidden=(3,)).build((1, 8, 8), 4), batch(4, "float32")
    executor = REFERENCE.executor(network)
    executor.training_step(SGD(learning_rate=0.5))(inputs)
    for name, gradient in executor.gradients.items():
        np.testing.assert_array_equal(
            executor.params[name], network.params[name] - np.float32(0.5) * gradient
        )


def test_training_resumes_to_the_same_bits() -> None:
    inputs = [batch(4, "float32") for _ in range(6)]
    whole = REFERENCE.executor(digits("float32"))
    step = whole.training_step(Adam())
    for k, one in enumerate(inputs):
        step(one)
        if k == 2:
            arrays, state = whole.arrays(), step.state()
    other = REFERENCE.executor(digits("float32"))
    again = other.training_step(Adam())
    other.load(arrays)
    again.load_state(state)
    for one in inputs[3:]:
        again(one)
    assert all(
        value.tobytes() == other.arrays()[name].tobytes()
        for name, value in whole.arrays().items()
    )
    assert step.state().keys() == again.state().keys() and step.state()["step"] == 6


def test_the_executor_has_arrays_of_its_own() -> None:
    network = digits()
    executor = REFERENCE.executor(network)
    executor.training_step(SGD(learning_rate=1.0))(batch())
    copies = executor.arrays()
    copies["fc1.bias"][:] = 99
    assert (network.params["fc1.bias"] == 0).all() and not (
        executor.params["fc1.bias"] == 99
    ).any()


def test_labels_are_needed_for_the_loss_alone() -> None:
    executor = REFERENCE.executor(digits())
    assert list(executor.inference({"x": batch()["x"]})) == ["logits"]


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ({}, "needs x, label"),
        ({"x": np.zeros((2, 1, 8, 8))}, "'label' is missing"),
        (
            {"x": np.zeros((2, 8, 8)), "label": np.zeros(2, int)},
            r"\(batch, 1, 8, 8\) is wanted",
        ),
        ({"x": np.zeros((2, 1, 8, 8)), "label": np.zeros(3, int)}, "different sizes"),
    ],
)
def test_wrong_inputs_give_one_line(inputs: dict[str, np.ndarray], reason: str) -> None:
    executor = REFERENCE.executor(digits())
    with pytest.raises(Deep500Error, match=reason):
        executor.inference_and_backprop(inputs) if inputs else executor.inference(
            inputs
        )


def test_wrong_arrays_and_gradients_of_many_numbers_are_refused() -> None:
    executor = REFERENCE.executor(digits())
    with pytest.raises(Deep500Error, match="single number"):
        executor.inference_and_backprop(batch(), "logits")
    with pytest.raises(Deep500Error, match="is missing among"):
        executor.load({})
    with pytest.raises(Deep500Error, match=r"is float64\[99\], expected float64\[6\]"):
        executor.load(executor.arrays() | {"fc1.bias": np.zeros(99)})
