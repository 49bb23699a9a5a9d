"""ONNX Runtime: inference, the backward pass as a graph, and training between two sets of buffers."""

import gc
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
import pytest

from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer, State
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp
from deep500.optimizers.adam import Adam
from deep500.optimizers.sgd import SGD

ENGINE, REFERENCE = framework("onnxruntime"), framework("reference")
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    ENGINE.set_threads(1)


def digits() -> Network:
    return DigitsCnn(channels=(2, 3), hidden=(6, 5)).build((1, 8, 8), 4, seed=1)


def batch(size: int = 6) -> dict[str, np.ndarray]:
    return {
        "x": RNG.standard_normal((size, 1, 8, 8)).astype("f4"),
        "label": RNG.integers(0, 4, size),
    }


def normalised() -> Network:
    network = Network("normalised")
    network.add_input("x", (0, 1, 8, 8))
    network.add_input("label", (0,), "int64")
    one, zero = np.ones(1), np.zeros(1)
    for name, value, trainable in (
        ("s", one, True),
        ("b", zero, True),
        ("m", zero, False),
        ("v", one, False),
        ("w", np.random.default_rng(0).standard_normal((4, 64)) / 8, True),
    ):
        network.add_param(name, value.astype("f4"), trainable)
    network.add_node(
        "BatchNormalization",
        ("x", "s", "b", "m", "v"),
        ["n", "m2", "v2"],
        name="norm",
        training_mode=1,
    )
    network.add_node(
        "Gemm", (network.add_node("Flatten", ("n",)), "w"), ["logits"], transB=1
    )
    network.add_node("SoftmaxCrossEntropyLoss", ("logits", "label"), ["loss"])
    network.state_updates = {"m": "m2", "v": "v2"}
    network.add_output("loss")
    return network


class Shrink(Optimizer):
    """A rule that is not elementwise, with a number as state."""

    elementwise = False

    def init(self, xp: Any, param: Any) -> State:
        return {"norm": xp.sum(param * 0)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        norm = xp.sqrt(xp.sum(xp.square(grad))) + 1e-3
        return param - 0.01 * grad / norm, {"norm": norm + state["norm"]}


def close(a: Any, b: Any) -> bool:
    a, b = np.asarray(ENGINE.array(a)), np.asarray(ENGINE.array(b))
    return bool(np.abs(a - b).max() <= 1e-5 * max(1e-3, np.abs(b).max()))


@pytest.mark.parametrize("make", [digits, normalised])
def test_inference_equals_the_reference(make: Any) -> None:
    ours, right = ENGINE.executor(make()), REFERENCE.executor(make())
    for size in (6, 6, 2):
        inputs = batch(size)
        expected = right.inference(inputs)
        assert all(
            close(value, expected[name])
            for name, value in ours.inference(inputs).items()
        )
    if "logits" in right.structure.outputs:
        assert list(ours.inference({"x": inputs["x"]})) == ["logits"]


@pytest.mark.parametrize("make", [digits, normalised])
@pytest.mark.parametrize("training", [True, False])
def test_gradients_equal_the_reference(make: Any, training: bool) -> None:
    ours, right, inputs = ENGINE.executor(make()), REFERENCE.executor(make()), batch()
    ours.training = right.training = training
    assert close(
        ours.inference_and_backprop(inputs)["loss"],
        right.inference_and_backprop(inputs)["loss"],
    )
    assert list(ours.gradients) == list(right.gradients)
    assert all(
        close(ours.gradients[name], value) for name, value in right.gradients.items()
    )
    assert all(close(ours.params[name], value) for name, value in right.params.items())


def test_the_backward_pass_runs_in_plain_onnxruntime(tmp_path: Any) -> None:
    network, inputs = digits(), batch(3)
    model = network.backward_network("loss", batch=3).to_onnx()
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, tmp_path / "backward.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "backward.onnx")
    names = [o.name for o in session.get_outputs()]
    found = dict(zip(names, session.run(None, inputs | network.params), strict=True))
    right = REFERENCE.executor(network)
    outputs = right.inference_and_backprop(inputs)
    assert set(found) == {
        *network.outputs,
        *(name for _, name in network.gradient("loss")),
    }
    assert all(close(found[name], value) for name, value in outputs.items())
    assert all(
        close(found[name], right.gradients[param])
        for param, name in network.gradient("loss")
    )
    wrong = network.params | {"fc1.weight": -network.params["fc1.weight"]}
    off = dict(zip(names, session.run(None, inputs | wrong), strict=True))
    assert not all(
        close(off[name], right.gradients[param])
        for param, name in network.gradient("loss")
    )


@pytest.mark.parametrize("optimizer", [Adam(), SGD(learning_rate=0.1), Shrink()])
@pytest.mark.parametrize("make", [digits, normalised])
def test_training_equals_the_reference_in_batches_of_several_sizes(
    make: Any, optimizer: Optimizer
) -> None:
    ours, right = ENGINE.executor(make()), REFERENCE.executor(make())
    step, expected = ours.training_step(optimizer), right.training_step(optimizer)
    for size in (6, 6, 4, 6, 4, 4):
        inputs = batch(size)
        assert close(step(inputs)["loss"], expected(inputs)["loss"])
    assert all(close(value, right.params[name]) for name, value in ours.params.items())
    assert step.state().keys() == expected.state().keys()
    assert all(
        close(value, expected.state()[name]) for name, value in step.state().items()
    )


def test_two_steps_share_the_parameters() -> None:
    ours, right = ENGINE.executor(digits()), REFERENCE.executor(digits())
    for executor in (ours, right):
        first, second = (
            executor.training_step(Adam()),
            executor.training_step(SGD(learning_rate=0.1)),
        )
        rng = np.random.default_rng(0)
        for step in (first, second, second, first, second, first):
            step(
                {
                    "x": rng.standard_normal((6, 1, 8, 8)).astype("f4"),
                    "label": rng.integers(0, 4, 6),
                }
            )
    assert all(close(value, right.params[name]) for name, value in ours.params.items())


def test_training_resumes_to_the_same_bits() -> None:
    inputs = [batch(4) for _ in range(5)]
    whole = ENGINE.executor(digits())
    step = whole.training_step(Adam())
    for k, one in enumerate(inputs):
        step(one)
        if k == 1:
            arrays, state = whole.arrays(), step.state()
    other = ENGINE.executor(digits())
    again = other.training_step(Adam())
    again(inputs[0])  # so that the buffers have changed places
    other.load(arrays)
    again.load_state(state)
    for one in inputs[2:]:
        again(one)
    assert all(
        value.tobytes() == other.arrays()[name].tobytes()
        for name, value in whole.arrays().items()
    )
    assert {k: v.tobytes() for k, v in step.state().items()} == {
        k: v.tobytes() for k, v in again.state().items()
    }


def test_results_stay_what_they_were() -> None:
    executor, inputs = ENGINE.executor(digits()), batch()
    step = executor.training_step(SGD(learning_rate=0.1))
    first, start = step(inputs), executor.arrays()
    loss = float(ENGINE.array(first["loss"]))
    for _ in range(4):
        step(inputs)
    assert float(ENGINE.array(first["loss"])) == loss
    trained = executor.arrays()
    assert not any(
        (start[name] == trained[name]).all() for name in ("fc1.weight", "logits.bias")
    )
    del executor, step
    gc.collect()  # what arrays() gave is no view of what is gone
    fresh = [np.full(10_000, 7, np.float32) for _ in range(50)]
    assert all(
        np.isfinite(value).all() and np.abs(value).max() < 5
        for value in trained.values()
    ), fresh


def test_native_inputs_are_taken_and_the_network_is_not_touched() -> None:
    network, inputs = digits(), batch()
    executor = ENGINE.executor(network)
    native = {name: ENGINE.tensor(value) for name, value in inputs.items()}
    step = executor.training_step(SGD(learning_rate=0.1))
    assert close(executor.inference(native)["loss"], executor.inference(inputs)["loss"])
    step(native)
    assert (ENGINE.array(native["x"]) == inputs["x"]).all()
    assert (network.params["fc1.bias"] == 0).all() and (
        executor.arrays()["fc1.bias"] != 0
    ).any()


def test_kernels_are_named() -> None:
    executor = ENGINE.executor(digits())
    words = executor.kernels()
    assert (
        words["conv1"] == words["conv1.relu.pool"] == "native"
        and words["loss"] == "composed"
    )
    assert ENGINE.executor(normalised()).kernels()["norm"] == "composed"
    twin = ENGINE.executor(normalised())
    twin.training = False
    assert twin.kernels()["norm"] == "native"


def test_wrong_inputs_and_arrays_give_one_line() -> None:
    executor = ENGINE.executor(Mlp(hidden=(3,)).build((2,), 2))
    step = executor.training_step(Adam())
    with pytest.raises(Deep500Error, match="'label' is missing"):
        step({"x": np.zeros((2, 2), "f4")})
    with pytest.raises(Deep500Error, match="is wanted"):
        executor.inference({"x": np.zeros((2, 3), "f4")})
    with pytest.raises(Deep500Error, match="parameters: .* is missing among no arrays"):
        executor.load({})
    with pytest.raises(Deep500Error, match=r"is float32\[9\], expected float32\[3\]"):
        executor.load(executor.arrays() | {"fc1.bias": np.zeros(9, "f4")})
    with pytest.raises(Deep500Error, match="optimizer state: .* is missing among step"):
        step.load_state({"step": np.zeros(())})
    with pytest.raises(Deep500Error, match="single number"):
        executor.inference_and_backprop(
            {"x": np.zeros((2, 2), "f4"), "label": np.zeros(2, int)}, "logits"
        )


def test_outputs_that_no_node_makes() -> None:
    """A parameter and an input may be outputs as they are, in inference, with gradients and in a step."""
    network = Network("handed on")
    network.add_input("x", (0, 2))
    network.add_param("w", np.array([1.0, 2.0], "float32"))
    network.add_node("Mul", ["x", "w"], ["p"])
    network.add_node("ReduceSum", ["p"], ["loss"], keepdims=0)
    for name in ("loss", "w", "x"):
        network.add_output(name)
    executor, x = ENGINE.executor(network), np.ones((3, 2), "float32")
    step = executor.training_step(SGD(0.5))
    for run in (executor.inference, executor.inference_and_backprop, step):
        found = {name: ENGINE.array(value) for name, value in run({"x": x}).items()}
        assert (
            found["loss"] == 9
            and found["w"].tolist() == [1, 2]
            and (found["x"] == x).all()
        )
    assert executor.arrays()["w"].tolist() == [-0.5, 0.5]


def test_calls_with_arrays_are_bound_once_and_share_nothing() -> None:
    executor, right = ENGINE.executor(digits()), REFERENCE.executor(digits())
    batches = [batch(), batch()]
    executor.inference(batches[0])
    first, second = (executor.inference(inputs) for inputs in batches)
    assert close(first["loss"], right.inference(batches[0])["loss"])
    assert close(second["loss"], right.inference(batches[1])["loss"])
    assert executor._bound.built == 1  # type: ignore[attr-defined]
    for inputs in (*batches, batches[0]):
        executor.inference_and_backprop(inputs)
    right.inference_and_backprop(batches[0])
    assert all(
        close(executor.gradients[name], g) for name, g in right.gradients.items()
    )


def test_a_bound_call_sees_new_parameters_and_the_other_set_of_them() -> None:
    executor, inputs = ENGINE.executor(digits()), batch()
    before = executor.inference(inputs)["loss"].numpy().item()
    executor.network.feed_tensor("logits.bias", np.array([5, 0, 0, 0], "f4"))
    changed = executor.inference(inputs)["loss"].numpy().item()
    assert changed != before
    executor.training_step(SGD(learning_rate=0.1))(inputs)
    right = REFERENCE.executor(digits())
    right.load(executor.arrays())
    for _ in range(2):
        assert close(
            executor.inference(inputs)["loss"], right.inference(inputs)["loss"]
        )


def test_arrays_that_have_to_be_converted_are_not_bound() -> None:
    executor, inputs = ENGINE.executor(digits()), batch()
    expected = executor.inference(inputs)["loss"]
    turned = np.asarray(inputs["x"].transpose(3, 2, 1, 0), order="C").transpose(
        3, 2, 1, 0
    )
    for x in (turned, inputs["x"].astype("f8"), inputs["x"].tolist()):
        for _ in range(2):
            found = executor.inference({"x": x, "label": inputs["label"].astype("i4")})
            assert close(found["loss"], expected)
    assert executor._bound.built == 1  # type: ignore[attr-defined]


def test_the_optimiser_is_always_on_and_there_is_no_compiler() -> None:
    level = onnxruntime.SessionOptions().graph_optimization_level
    assert level == onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    with pytest.raises(Unsupported, match="no compiled execution.*only deferred"):
        ENGINE.executor(digits(), compile=True)
    assert ENGINE.executor(digits()).execution == "deferred"
