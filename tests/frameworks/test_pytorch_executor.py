"""The PyTorch executor: against the reference's formulas, against loops written by hand, and its own promises."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.contracts.operator import Operator
from deep500.contracts.optimizer import Optimizer, State
from deep500.datasets.synthetic_images import SyntheticImages
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.frameworks.pytorch import executor as executors
from deep500.frameworks.pytorch import step as steps
from deep500.networks import DigitsCnn, Mlp
from deep500.operators import Relu
from deep500.optimizers import SGD, Adam, Momentum

TORCH, REFERENCE = framework("pytorch"), framework("reference")
# no two pixels are equal, so that rounding decides no maximum
TRAIN = SyntheticImages(200).load()["train"]
STEPS, BATCH = 20, 6
Batch = dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    TORCH.set_threads(1)
    yield
    torch.set_num_threads(before)


def batch(i: int, dtype: str = "float64") -> Batch:
    found = TRAIN.batch(np.arange(i * BATCH, (i + 1) * BATCH))
    return {"x": found["x"].astype(dtype), "label": found["label"]}


class PlainRelu(Operator):
    """A Relu without a kernel of PyTorch's: runs by its formula and its derivative."""

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
    x, label = (
        network.add_input("x", (0, 1, 8, 8), dtype),
        network.add_input("label", (0,), "int64"),
    )
    hidden = network.add_node(
        "Gemm", (network.add_node("Flatten", (x,)), "w1"), transB=1
    )
    hidden = network.add_node(
        "BatchNormalization",
        (hidden, "scale", "shift", "mean", "var"),
        ("normal", "new_mean", "new_var"),
        training_mode=1,
        momentum=0.8,
    )
    logits = network.add_node(
        "Gemm",
        (network.add_node(relu or Relu(), (hidden,)), "w2"),
        ["logits"],
        transB=1,
    )
    network.add_node("SoftmaxCrossEntropyLoss", (logits, label), ["loss"])
    network.state_updates = {"mean": "new_mean", "var": "new_var"}
    network.outputs = ["loss", "logits"]
    return network


NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": lambda: Mlp((20, 15)).build((1, 8, 8), 10, dtype="float64"),
    "cnn": lambda: DigitsCnn().build((1, 8, 8), 10, dtype="float64"),
    "normalised": normalised,
    "composed": lambda: normalised(PlainRelu()),
}


def distance(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """The largest relative difference between arrays of the same names."""
    assert a.keys() == b.keys()
    pairs = [(TORCH.array(a[name]), TORCH.array(b[name])) for name in a]
    return max(float(np.abs(x - y).max() / (np.abs(y).max() or 1)) for x, y in pairs)


def backprops(network: Network) -> tuple[Executor, Executor]:
    """Both frameworks' executors after one inference_and_backprop, having compared the outputs."""
    pair = TORCH.executor(network), REFERENCE.executor(network)
    ours, theirs = (executor.inference_and_backprop(batch(0)) for executor in pair)
    assert distance(ours, theirs) < 1e-13
    return pair


# ---- against the reference


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_the_references(name: str) -> None:
    ours, theirs = backprops(NETWORKS[name]())
    assert list(ours.gradients) == ours.structure.trainable
    assert distance(ours.gradients, theirs.gradients) < 1e-12
    # running statistics among them
    assert distance(ours.arrays(), theirs.arrays()) < 1e-12
    assert distance(ours.inference(batch(1)), theirs.inference(batch(1))) < 1e-12


def test_a_wrong_derivative_is_seen() -> None:
    ours = TORCH.executor(normalised(WrongRelu()))
    right = REFERENCE.executor(normalised(PlainRelu()))
    for executor in (ours, right):
        executor.inference_and_backprop(batch(0))
    assert distance(ours.gradients, right.gradients) > 1e-3


def test_kernels_say_how_nodes_run() -> None:
    assert set(TORCH.executor(NETWORKS["cnn"]()).kernels().values()) == {"native"}
    composed = TORCH.executor(normalised(PlainRelu())).kernels()
    assert [word for name, word in composed.items() if name == "PlainRelu"] == [
        "composed"
    ]


@pytest.mark.parametrize("y", ["loss", "other"])
def test_gradients_of_another_value(y: str) -> None:
    """One that is no output, and zeros for parameters that it does not depend on."""
    network = normalised()
    network.add_node("SoftmaxCrossEntropyLoss", ("normal", "label"), ["other"])
    ours, theirs = TORCH.executor(network), REFERENCE.executor(network)
    assert ours.inference_and_backprop(batch(0), y).keys() == {"loss", "logits"}
    theirs.inference_and_backprop(batch(0), y)
    for name, gradient in theirs.gradients.items():
        assert np.allclose(
            TORCH.array(ours.gradients[name]), gradient, rtol=1e-11, atol=1e-13
        )
    assert bool(np.any(theirs.gradients["w2"])) == (y == "loss")


# ---- against loops written by hand


def by_hand(network: Network, make: Callable) -> list[float]:
    """Twenty losses of a plain PyTorch loop over the same parameters."""
    p = {
        name: torch.tensor(value, requires_grad=True)
        for name, value in network.params.items()
    }
    optimizer, losses, functional = make(list(p.values())), [], torch.nn.functional
    for i in range(STEPS):
        h, label = (torch.from_numpy(value) for value in batch(i).values())
        for k in (1, 2):
            h = functional.conv2d(
                h, p[f"conv{k}.weight"], p[f"conv{k}.bias"], padding=1
            )
            h = functional.max_pool2d(functional.relu(h), 2)
        h = h.flatten(1)
        for k in (1, 2):
            h = functional.relu(
                functional.linear(h, p[f"fc{k}.weight"], p[f"fc{k}.bias"])
            )
        loss = functional.cross_entropy(
            functional.linear(h, p["logits.weight"], p["logits.bias"]), label
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def trained(optimizer: Optimizer, network: Network) -> list[float]:
    step = TORCH.executor(network).training_step(optimizer)
    return [float(step(batch(i))["loss"]) for i in range(STEPS)]


CURVES: dict[str, tuple[Optimizer, Callable]] = {
    "sgd": (SGD(0.05), lambda p: torch.optim.SGD(p, 0.05)),
    "momentum": (Momentum(0.02, 0.9), lambda p: torch.optim.SGD(p, 0.02, momentum=0.9)),
    "adam": (Adam(), lambda p: torch.optim.Adam(p, 1e-3)),
}


@pytest.mark.parametrize("name", CURVES)
def test_the_loss_curve_is_that_of_a_loop_by_hand(name: str) -> None:
    optimizer, make = CURVES[name]
    network = NETWORKS["cnn"]()
    ours, theirs = trained(optimizer, network), by_hand(network, make)
    assert abs(theirs[-1] - theirs[0]) > 0.01
    assert np.abs(np.subtract(ours, theirs)).max() < 1e-11


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        (SGD(0.0501), "sgd"),
        (Momentum(0.02, 0.89), "momentum"),
        (Adam(epsilon=1e-7), "adam"),
    ],
)
def test_a_planted_error_bends_the_curve(wrong: Optimizer, name: str) -> None:
    network = NETWORKS["cnn"]()
    assert (
        np.abs(
            np.subtract(trained(wrong, network), by_hand(network, CURVES[name][1]))
        ).max()
        > 1e-9
    )


# ---- optimizers: flat, tensor by tensor, native


class ByTensor(Momentum):
    """The same rule, said not to be elementwise."""

    elementwise = False


class Counting(Optimizer):
    """A rule with a number as state besides an array."""

    def init(self, xp: Any, param: Any) -> State:
        return {"count": xp.zeros((), param.dtype), "sum": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        count, total = state["count"] + 1, state["sum"] + grad
        return param - 0.05 * total / count, {"count": count, "sum": total}


class Formula(Adam):
    """Adam by its formula here too."""

    def native(self, framework: str) -> None:
        return None


def run(
    optimizer: Optimizer, count: int, dtype: str = "float32"
) -> dict[str, np.ndarray]:
    executor = TORCH.executor(DigitsCnn().build((1, 8, 8), 10, dtype=dtype))
    step = executor.training_step(optimizer)
    for i in range(count):
        step(batch(i, dtype))
    return executor.arrays()


def same_bits(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(
        x.dtype == b[n].dtype and x.tobytes() == b[n].tobytes() for n, x in a.items()
    )


def test_flat_and_tensor_by_tensor_are_the_same() -> None:
    assert same_bits(run(Momentum(0.02, 0.9), 5), run(ByTensor(0.02, 0.9), 5))


def test_a_large_buffer_is_updated_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(Momentum(0.02, 0.9), 3)
    monkeypatch.setattr(steps, "CHUNK", 1000)
    assert same_bits(whole, run(Momentum(0.02, 0.9), 3))


@pytest.mark.parametrize(("dtype", "bound"), [("float64", 1e-12), ("float32", 1e-4)])
def test_the_native_adam_is_the_formula(dtype: str, bound: float) -> None:
    start, native, formula = (
        run(rule, n, dtype) for rule, n in ((Adam(), 0), (Adam(), 10), (Formula(), 10))
    )
    moved = {name: native[name] - start[name] for name in start}
    assert (
        distance(moved, {name: formula[name] - start[name] for name in start}) < bound
    )


def test_the_same_bits_again() -> None:
    assert same_bits(run(Adam(), 5), run(Adam(), 5))
    assert not same_bits(run(Adam(), 5), run(Adam(), 4))


# ---- checkpoints


@pytest.mark.parametrize("chunk", [1 << 18, 1000])
@pytest.mark.parametrize(
    "rule",
    [
        Adam(),
        Formula(),
        Momentum(0.02, 0.9),
        ByTensor(0.02, 0.9),
        Counting(),
        SGD(0.02),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_a_resumed_run_goes_on_with_the_same_bits(
    rule: Optimizer, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "CHUNK", chunk)
    first = TORCH.executor(normalised(dtype="float32"))
    step = first.training_step(rule)
    for i in range(5):
        step(batch(i, "float32"))
    arrays, state = first.arrays(), step.state()
    second = TORCH.executor(normalised(dtype="float32"))
    resumed = second.training_step(rule)
    second.load(arrays)
    resumed.load_state(state)
    assert same_bits(resumed.state(), state)
    for i in range(5, 10):
        a, b = step(batch(i, "float32")), resumed(batch(i, "float32"))
        assert torch.equal(a["loss"], b["loss"])
    assert same_bits(first.arrays(), second.arrays()) and same_bits(
        step.state(), resumed.state()
    )
    # what was saved stayed as it was
    assert not same_bits(first.arrays(), arrays) and (state["step"] == 5).all()


@pytest.mark.parametrize(
    "rule",
    [Adam(), ByTensor(0.02, 0.9), Counting()],
    ids=lambda rule: type(rule).__name__,
)
def test_states_are_named_as_in_the_reference(rule: Optimizer) -> None:
    """So that a run may be taken from one framework to another."""
    ours, theirs = (
        fw.executor(normalised()).training_step(rule) for fw in (TORCH, REFERENCE)
    )
    theirs(batch(0))
    ours.load_state(theirs.state())
    assert {n: v.shape for n, v in ours.state().items()} == {
        n: v.shape for n, v in theirs.state().items()
    }
    assert same_bits(ours.state(), theirs.state())


def test_arrays_that_do_not_fit_are_refused() -> None:
    executor = TORCH.executor(normalised())
    arrays, step = executor.arrays(), executor.training_step(Adam())
    with pytest.raises(Deep500Error, match="w1"):
        executor.load({name: value for name, value in arrays.items() if name != "w1"})
    with pytest.raises(
        Deep500Error, match=r"'w1' is float64\[64, 8\], expected float64\[8, 64\]"
    ):
        executor.load(arrays | {"w1": arrays["w1"].T})
    with pytest.raises(Deep500Error, match="step"):
        step.load_state({})


# ---- modes and state


def test_training_moves_the_running_statistics_and_inference_does_not() -> None:
    executor = TORCH.executor(normalised())
    hidden = batch(0)["x"].reshape(BATCH, -1) @ executor.arrays()["w1"].T
    executor.training_step(SGD(0.0))(batch(0))
    after = executor.arrays()
    assert np.allclose(after["mean"], 0.2 * hidden.mean(0), rtol=1e-12)
    assert np.allclose(after["var"], 0.8 + 0.2 * hidden.var(0), rtol=1e-12)
    once, again = (executor.inference(batch(0))["logits"] for _ in range(2))
    assert torch.equal(once, again) and same_bits(executor.arrays(), after)


def test_evaluation_uses_the_running_statistics() -> None:
    executor = TORCH.executor(normalised())
    seen = executor.inference_and_backprop(batch(0))["logits"]
    executor.training = False
    before = executor.arrays()
    fixed = executor.inference_and_backprop(batch(0))
    assert torch.allclose(
        fixed["logits"], executor.inference(batch(0))["logits"], rtol=1e-12
    )
    assert not torch.allclose(fixed["logits"], seen, rtol=1e-3)
    assert same_bits(executor.arrays(), before)
    single = {name: value[:1] for name, value in batch(0).items()}
    assert torch.allclose(
        executor.inference(single)["logits"], fixed["logits"][:1], rtol=1e-12
    )


def test_without_labels_there_are_logits_and_no_loss() -> None:
    executor = TORCH.executor(normalised())
    assert executor.inference({"x": batch(0)["x"]}).keys() == {"logits"}
    assert executor.inference(batch(0)).keys() == {"loss", "logits"}


def test_results_carry_no_graph() -> None:
    executor = TORCH.executor(normalised())
    for outputs in (
        executor.inference(batch(0)),
        executor.inference_and_backprop(batch(0)),
        executor.training_step(SGD(0.1))(batch(0)),
    ):
        assert not any(value.requires_grad for value in outputs.values())


def test_parameters_are_views_of_one_buffer_and_gradients_when_asked() -> None:
    executor: Any = TORCH.executor(NETWORKS["cnn"]())
    before = dict(executor.params)
    executor.training_step(Adam())(batch(0))
    assert executor.flat_gradient == {}  # a whole step makes none
    executor.load(executor.arrays())
    assert all(executor.params[name] is tensor for name, tensor in before.items())
    executor.flat_gradients()
    for views, flat in (
        (executor.params, executor.flat["float64"]),
        (executor.gradients, executor.flat_gradient["float64"]),
    ):
        assert {v.untyped_storage().data_ptr() for v in views.values()} == {
            flat.untyped_storage().data_ptr()
        }


def test_the_view_of_the_network_feeds_and_fetches() -> None:
    executor = TORCH.executor(normalised())
    executor.inference_and_backprop(batch(0))
    executor.network.feed_tensor("shift", np.full(8, 2.0))
    [(name, gradient)] = [
        pair for pair in executor.network.gradient() if pair[0] == "shift"
    ]
    value, found = executor.network.fetch_tensors([name, gradient])
    assert (value == 2).all() and torch.equal(found, executor.gradients["shift"])


# ---- inputs


def test_inputs_may_be_native_or_numpy_of_any_kind() -> None:
    executor, given = TORCH.executor(normalised(dtype="float32")), batch(0, "float32")
    expected = executor.inference(given)["loss"]
    frozen, wide = given["x"].copy(), np.asfortranarray(given["x"].astype("float64"))
    frozen.flags.writeable = False
    for x in (
        torch.from_numpy(given["x"]),
        frozen,
        wide,
        given["x"][::-1][::-1],
        given["x"].tolist(),
    ):
        assert torch.equal(
            executor.inference({"x": x, "label": given["label"]})["loss"], expected
        )
    assert torch.equal(
        executor.inference({"x": given["x"], "label": given["label"].astype("int32")})[
            "loss"
        ],
        expected,
    )


def test_a_numpy_array_is_not_copied() -> None:
    x = np.zeros((2, 3), "float32")
    executor: Any = TORCH.executor(normalised())
    assert executor.native(x, torch.float32).data_ptr() == x.ctypes.data


def test_other_batch_sizes_get_their_own_code_and_many_share_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, shared = TORCH.executor(NETWORKS["cnn"]()), TORCH.executor(NETWORKS["cnn"]())
    results = [own.inference_and_backprop(_first(n)) for n in (6, 3, 1, 6)]
    monkeypatch.setattr(executors, "MOST_SHAPES", 1)
    others = [shared.inference_and_backprop(_first(n)) for n in (6, 3, 1, 6)]
    assert all(
        torch.equal(a["loss"], b["loss"]) for a, b in zip(results, others, strict=True)
    )
    assert same_bits(own.flat_gradients(), shared.flat_gradients())


def _first(count: int) -> Batch:
    return {name: value[:count] for name, value in batch(0).items()}


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
def test_inputs_that_do_not_fit_are_refused(inputs: Batch, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        TORCH.executor(normalised()).inference_and_backprop(inputs)


def test_what_cannot_be_differentiated_is_refused() -> None:
    executor = TORCH.executor(normalised())
    with pytest.raises(Deep500Error, match="a single number"):
        executor.inference_and_backprop(batch(0), "logits")
    with pytest.raises(Deep500Error, match="no value is named 'lost'"):
        executor.inference_and_backprop(batch(0), "lost")


def test_parameters_of_several_dtypes_are_trained_together() -> None:
    network = Network("mixed")
    network.add_param("a", np.ones((3, 2), "float32"))
    network.add_param("b", np.ones((2, 1), "float64"))
    network.add_input("x", (0, 3))
    hidden = network.add_node("Cast", (network.add_node("MatMul", ("x", "a")),), to=11)
    network.add_node(
        "ReduceMean", (network.add_node("MatMul", (hidden, "b")),), ["loss"], keepdims=0
    )
    network.add_output("loss")
    x = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
    ours, theirs = TORCH.executor(network), REFERENCE.executor(network)
    for executor in (ours, theirs):
        step = executor.training_step(Momentum(0.1))
        step(x), step(x)
    assert set(ours.flat_params()) == {"float32", "float64"}
    assert distance(ours.arrays(), theirs.arrays()) < 1e-6
