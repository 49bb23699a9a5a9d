"""The executor contract on every framework: halves of a step, flat buffers, random keys, kernel words."""

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import available_frameworks, framework
from deep500.networks import Mlp
from deep500.operators.dropout import Dropout
from deep500.optimizers import Adam, Momentum

FRAMEWORKS = available_frameworks()
IN_HOST_MEMORY = [name for name in FRAMEWORKS if name not in ("jax", "tensorflow")]
BY_COPY = [name for name in FRAMEWORKS if name not in IN_HOST_MEMORY]
each = pytest.mark.parametrize("name", FRAMEWORKS)
each_in_memory = pytest.mark.parametrize("name", IN_HOST_MEMORY)
each_by_copy = pytest.mark.parametrize("name", BY_COPY)
ROWS = 8


def network() -> Network:
    """Dense, BatchNormalization with running statistics, Dropout, dense."""
    draw, net = np.random.default_rng(1), Network("small")
    x, label = net.add_input("x", (0, 5)), net.add_input("label", (0,), "int64")
    for name, shape in {
        "w1": (5, 7),
        "w2": (7, 3),
        "scale": (7,),
        "shift": (7,),
    }.items():
        net.add_param(name, draw.normal(0, 0.5, shape).astype("float32"))
    net.add_param("mean", np.zeros(7, "float32"), trainable=False)
    net.add_param("var", np.ones(7, "float32"), trainable=False)
    hidden = net.add_node("MatMul", (x, "w1"), ["h"])
    net.add_node(
        "BatchNormalization",
        (hidden, "scale", "shift", "mean", "var"),
        ("normal", "new_mean", "new_var"),
        training_mode=1,
    )
    net.state_updates = {"mean": "new_mean", "var": "new_var"}
    inputs: Any = ("normal", 0.4, True)
    net.add_node(Dropout(), inputs, ["dropped", "mask"], name="drop")
    net.add_node("MatMul", ("dropped", "w2"), ["logits"])
    net.add_node("SoftmaxCrossEntropyLoss", ("logits", label), ["loss"])
    for output in ("loss", "logits", "mask"):
        net.add_output(output)
    return net


def batches(count: int, rows: int = ROWS) -> Iterator[dict[str, np.ndarray]]:
    draw = np.random.default_rng(2)
    for _ in range(count):
        x = draw.normal(size=(rows, 5)).astype("float32")
        yield {"x": x, "label": draw.integers(0, 3, rows)}


def same_bits(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(a[n].tobytes() == b[n].tobytes() for n in a)


# ---- the two halves of a step


class ByTensor(Momentum):
    """The same rule, said not to be elementwise."""

    elementwise = False


RULES = [Adam(0.05), Momentum(0.05), ByTensor(0.05)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@each
def test_the_halves_do_what_the_whole_does(name: str, rule: Optimizer) -> None:
    whole, halves = (framework(name).executor(network(), seed=3) for _ in range(2))
    step, other = whole.training_step(rule), halves.training_step(rule)
    for i, batch in enumerate(batches(4)):
        outputs = step(batch)
        same = other.backprop(batch)
        other.update()
        array = whole.framework.array
        assert np.allclose(array(outputs["loss"]), array(same["loss"]), rtol=1e-6), i
    assert step.count == other.count == 4
    if name in IN_HOST_MEMORY:
        assert same_bits(whole.arrays(), halves.arrays())
        assert same_bits(step.state(), other.state())
    for param, value in whole.arrays().items():
        assert np.allclose(value, halves.arrays()[param], rtol=1e-5, atol=1e-6), param


@each
def test_halves_and_wholes_can_be_mixed(name: str) -> None:
    mixed, whole = (framework(name).executor(network(), seed=3) for _ in range(2))
    step, right = mixed.training_step(Adam(0.05)), whole.training_step(Adam(0.05))
    for i, batch in enumerate(batches(4)):
        right(batch)
        if i % 2:
            step(batch)
        else:
            step.backprop(batch)
            step.update()
    for param, value in whole.arrays().items():
        assert np.allclose(value, mixed.arrays()[param], rtol=1e-5, atol=1e-6), param


@each
def test_an_update_without_gradients_is_refused(name: str) -> None:
    step = (
        framework(name).executor(Mlp((3,)).build((2,), 2)).training_step(Momentum(0.1))
    )
    with pytest.raises(Deep500Error, match=r"call backprop\(batch\) before it"):
        step.update()


@each
def test_gradients_changed_between_the_halves_are_what_the_update_uses(
    name: str,
) -> None:
    executor = framework(name).executor(network(), seed=3)
    step = executor.training_step(ByTensor(0.5, 0.0))
    before = executor.arrays()
    (batch,) = batches(1)
    step.backprop(batch)
    buffers = executor.flat_gradients()
    ones = {dtype: np.ones_like(buffer) for dtype, buffer in buffers.items()}
    executor.load_flat_gradients(ones)
    step.update()
    for param in executor.structure.trainable:
        assert np.allclose(executor.arrays()[param], before[param] - 0.5, atol=1e-6), (
            param
        )


# ---- flat buffers


@each
def test_flat_buffers_hold_parameters_and_gradients(name: str) -> None:
    executor = framework(name).executor(network())
    with pytest.raises(Deep500Error, match="no gradients yet"):
        executor.flat_gradients()
    (batch,) = batches(1)
    executor.inference_and_backprop(batch)
    array, params = executor.framework.array, executor.arrays()
    for param, view in executor.flat_params().views().items():
        assert np.array_equal(view, params[param])
    for param, view in executor.flat_gradients().views().items():
        assert np.array_equal(view, array(executor.gradients[param])) and view.any()


@each_in_memory
def test_flat_buffers_are_the_same_memory(name: str) -> None:
    executor = framework(name).executor(network())
    (batch,) = batches(1)
    executor.inference_and_backprop(batch)
    for buffers, tensors in (
        (executor.flat_params(), executor.params),
        (executor.flat_gradients(), executor.gradients),
    ):
        for param, view in buffers.views().items():
            assert view.ctypes.data == _address(tensors[param]), param
            view[...] = 0.25
            assert (executor.framework.array(tensors[param]) == 0.25).all()
    assert not executor.copies


def _address(tensor: Any) -> int:
    if isinstance(tensor, np.ndarray):
        return tensor.ctypes.data
    return tensor.data_ptr()


@each_by_copy
def test_flat_buffers_are_one_counted_copy_each_way(name: str) -> None:
    executor = framework(name).executor(network())
    buffers = executor.flat_params()
    assert executor.copies == {"to host": 1}
    buffers.views()["shift"][...] = 0.25
    assert not (executor.arrays()["shift"] == 0.25).any()
    executor.load_flat_params(buffers)
    assert executor.copies == {"to host": 1, "to device": 1}
    assert (executor.arrays()["shift"] == 0.25).all()


@each
def test_flat_buffers_are_valid_until_the_next_step(name: str) -> None:
    executor = framework(name).executor(network())
    step = executor.training_step(Momentum(0.1))
    first, second = batches(2)
    step(first)
    params = executor.flat_params()
    step(second)
    with pytest.raises(Deep500Error, match="older than the executor's last step"):
        params["float32"]


def test_a_whole_step_makes_no_flat_gradients() -> None:
    executor: Any = framework("pytorch").executor(network())
    step = executor.training_step(Adam())
    for batch in batches(2):
        step(batch)
    assert executor.flat_gradient == {}


# ---- single tensors, and how often weights are held


@each
def test_writing_one_tensor_touches_that_tensor_only(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = framework(name).executor(network())
    written = []
    original = executor._write
    monkeypatch.setattr(
        executor,
        "_write",
        lambda param, value: (written.append(param), original(param, value)),
    )
    monkeypatch.setattr(
        executor, "arrays", lambda: pytest.fail("all parameters were copied")
    )
    executor.network.feed_tensor("shift", np.full(7, 2.0))
    [value] = executor.network.fetch_tensors(["shift"])
    assert written == ["shift"] and (executor.framework.array(value) == 2).all()
    with pytest.raises(Deep500Error, match="no parameter is named 'shfit'"):
        executor.write("shfit", np.zeros(7))
    with pytest.raises(
        Deep500Error, match=r"'shift' is float64\[3\], expected float32\[7\]"
    ):
        executor.write("shift", np.zeros(3))


@each
def test_gradient_descent_by_hand_on_fetched_tensors(name: str) -> None:
    executor = framework(name).executor(network())
    before = executor.arrays()
    [batch] = batches(1)
    executor.inference_and_backprop(batch, "loss")
    array = executor.framework.array
    gradients = {param: array(g) for param, g in executor.gradients.items()}
    for param, grad in executor.network.gradient("loss"):
        p, g = executor.network.fetch_tensors([param, grad])
        executor.network.feed_tensor(param, p - 0.5 * g)
    after = executor.arrays()
    for param, gradient in gradients.items():
        assert np.abs(gradient).max() > 0
        np.testing.assert_allclose(
            after[param], before[param] - 0.5 * gradient, rtol=1e-6
        )


@each
def test_the_structure_holds_no_arrays(name: str) -> None:
    executor = framework(name).executor(network())
    assert not any(
        isinstance(p, np.ndarray) for p in executor.structure.params.values()
    )
    assert executor.structure.params["w1"].shape == (5, 7)


@each
def test_the_users_network_is_not_changed(name: str) -> None:
    net = network()
    before = {param: value.copy() for param, value in net.params.items()}
    step = framework(name).executor(net).training_step(Momentum(0.1))
    for batch in batches(2):
        step(batch)
    assert same_bits(net.params, before)


# ---- random keys


def mask(
    executor: Executor, batch: dict[str, np.ndarray], step: int = 0, row: int = 0
) -> Any:
    outputs = executor.inference_and_backprop(batch, step=step, first_row=row)
    return np.array(executor.framework.array(outputs["mask"]))


@each
def test_masks_depend_on_the_seed_and_not_on_the_framework(name: str) -> None:
    (batch,) = batches(1)
    right = [
        mask(framework("reference").executor(network(), seed=s), batch) for s in (0, 1)
    ]
    ours = [mask(framework(name).executor(network(), seed=s), batch) for s in (0, 1)]
    assert np.array_equal(ours[0], right[0]) and np.array_equal(ours[1], right[1])
    assert not np.array_equal(ours[0], ours[1])


@each
def test_ranks_draw_together_what_one_rank_draws(name: str) -> None:
    executor = framework(name).executor(network(), seed=5)
    (batch,) = batches(1, rows=2 * ROWS)
    whole = mask(executor, batch, step=2)
    parts = []
    for row in (0, ROWS):
        part = {key: value[row : row + ROWS] for key, value in batch.items()}
        parts.append(mask(executor, part, step=2, row=row))
    assert np.array_equal(np.concatenate(parts), whole)
    assert not np.array_equal(parts[0], parts[1])


def test_unequal_ranks_and_rows_that_are_several_per_example() -> None:
    """Three and five examples of which each has four rows, as attention has (batch * heads)."""
    fw, ones = framework("reference"), np.ones((32, 6), "float32")
    words = Dropout().key("node", 1, seed=9)[:2]
    whole = fw.evaluate(Dropout(), [ones, 0.5, True], key=[*words, 0, 8])[1]
    first = fw.evaluate(Dropout(), [ones[:12], 0.5, True], key=[*words, 0, 3])[1]
    second = fw.evaluate(Dropout(), [ones[:20], 0.5, True], key=[*words, 3, 5])[1]
    assert np.array_equal(np.concatenate([first, second]), whole)


def test_threefry_has_the_published_values() -> None:
    """Random123's known answers for threefry2x32 with 20 rounds."""
    from deep500.contracts.random_key import _INTEGERS

    full = 0xFFFFFFFF
    answers = {
        ((0, 0), (0, 0)): (0x6B200159, 0x99BA4EFE),
        ((full, full), (full, full)): (0x1CB996FC, 0xBB002BE7),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3)): (0xC4923A9C, 0x483DF7A0),
    }
    for (key, counter), right in answers.items():
        assert _INTEGERS.threefry(key, *counter) == right


# ---- options and kernel words


@each
def test_every_framework_takes_the_same_options(name: str) -> None:
    fw = framework(name)
    net = Mlp((3,)).build((2,), 2)
    fw.executor(net, seed=1, compile=False, threads=None, device="cpu")
    with pytest.raises(Unsupported, match="has no device 'cuda:0'"):
        fw.executor(net, device="cuda:0")
    with pytest.raises(Deep500Error, match="seed is -1"):
        fw.executor(net, seed=-1)


without_compiler = {"reference", "onnxruntime"}
if " " in sys.prefix:
    # whose compiler does not quote the paths of its headers
    without_compiler.add("pytorch")


@pytest.mark.filterwarnings(
    "ignore:`torch.jit"
)  # what PyTorch's compiler says about itself
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name == "pytorch"))
        for name in FRAMEWORKS
    ],
)
def test_compile_computes_the_same_or_says_that_it_cannot(name: str) -> None:
    net = Mlp((6,)).build((4,), 3)
    batch = {"x": np.ones((2, 4), "float32"), "label": np.array([0, 2])}
    right = framework("reference").executor(net).inference_and_backprop(batch)
    if name in without_compiler:
        with pytest.raises(Unsupported, match="leave compile out"):
            framework(name).executor(net, compile=True).inference_and_backprop(batch)
        return
    executor = framework(name).executor(net, compile=True)
    outputs = executor.inference_and_backprop(batch)
    assert np.allclose(
        executor.framework.array(outputs["logits"]), right["logits"], rtol=1e-5
    )


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_a_compiler_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def fail(*values: Any) -> Any:
        raise torch._dynamo.exc.TorchDynamoException("no\ncompiler")

    monkeypatch.setattr(framework("pytorch"), "compile", lambda function: fail)
    executor = framework("pytorch").executor(Mlp((6,)).build((4,), 3), compile=True)
    with pytest.raises(
        Unsupported, match=r"cannot compile the network 'Mlp' \(no compiler\)"
    ):
        executor.inference({"x": np.ones((2, 4), "float32")})


class Doubled(d5.CustomPythonOp):
    """A user's operator."""

    def forward(self, inputs: Any) -> Any:
        return 2 * inputs[0]

    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return 2 * grads[0]


@each
def test_kernel_words_are_those_of_what_runs_also_beside_a_custom_operator(
    name: str,
) -> None:
    net = Network("custom")
    net.add_param("w", np.ones((3, 3), "float32"))
    net.add_input("x", (0, 3))
    net.add_node("MatMul", ("x", "w"), ["h"], name="product")
    net.add_node(Doubled(), ("h",), ["doubled"], name="custom")
    net.add_node("ReduceMean", ("doubled",), ["loss"], name="mean", keepdims=0)
    net.add_output("loss")
    executor = framework(name).executor(net)
    expected = "composed" if name in ("reference", "tensorflow") else "native"
    for _ in range(2):  # before and after a run
        words = executor.kernels()
        assert words == {"product": expected, "custom": "native", "mean": expected}
        executor.inference_and_backprop({"x": np.ones((2, 3), "float32")})


def test_a_kernel_word_follows_the_dtype() -> None:
    """ONNX Runtime has no Conv for float64."""
    words = {}
    for dtype in ("float32", "float64"):
        net = d5.networks.DigitsCnn().build((1, 8, 8), 10, dtype=dtype)
        words[dtype] = framework("onnxruntime").executor(net).kernels()["conv1"]
    assert words == {"float32": "native", "float64": "composed"}


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused(threads: int) -> None:
    with pytest.raises(
        Deep500Error, match=f"threads is {threads}: give a number from 1 on"
    ):
        framework("reference").executor(network(), threads=threads)
