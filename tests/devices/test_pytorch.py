"""PyTorch on the simulated device: the bits of the CPU, no round trips through the host, and errors of one line."""

import gc
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deep500 as d5
from deep500 import registry
from deep500.bundle.records.verification import verify
from deep500.check.operators.examples import Example, examples_of
from deep500.contracts.device import DeviceInfo
from deep500.contracts.network import Network
from deep500.custom.cpp import CppOp
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.networks._architecture import Architecture
from deep500.reports.terminal import terminal
from deep500.rerun.recipe_runner import run
from deep500.testing import simulated_device

HOST = framework("pytorch")
QUICK_OPERATORS = 12
QUICK_NETWORKS = {"DigitsCnn", "GPT"}
BATCH = 4
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module", autouse=True)
def same_algorithms() -> Iterator[None]:
    """One thread, and attention by its formula: for that, the CPU has another algorithm than devices."""
    before = torch.get_num_threads()
    HOST.set_threads(1)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        yield
    torch.set_num_threads(before)


@contextmanager
def without_lstm_of_onednn(name: str) -> Iterator[None]:
    """The CPU has two algorithms for an LSTM, and devices have none of oneDNN."""
    if name != "LSTM":
        yield
        return
    torch.backends.mkldnn.set_flags(False)
    yield
    torch.backends.mkldnn.set_flags(True)


@pytest.fixture(scope="module")
def sim() -> Any:
    return framework("pytorch@sim:0")


def architectures() -> list[type[Architecture]]:
    found = []
    for name in registry.known("networks"):
        kind = registry.find("networks", name)
        if isinstance(kind, type) and issubclass(kind, Architecture):
            found.append(kind)
    return found


def tiny(kind: type[Architecture]) -> Network:
    settings, shape, outputs = kind.tiny
    return kind(**settings).build(shape, outputs)


def batch(net: Network, seed: int = 0) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, tensor in net.inputs.items():
        shape = (BATCH, *tensor.shape[1:])
        if np.dtype(tensor.dtype).kind == "f":
            arrays[name] = rng.standard_normal(shape).astype(tensor.dtype)
        else:
            arrays[name] = rng.integers(0, 2, shape).astype(tensor.dtype)
    return arrays


def same_bits(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> bool:
    return a.keys() == b.keys() and all(a[k].tobytes() == b[k].tobytes() for k in a)


# ---- operators


def operators() -> list[Any]:
    names = sorted(registry.known("operators"))
    quick = set(random.Random(22).sample(names, QUICK_OPERATORS))
    quick |= {"Attention", "STFT", "Dropout", "AveragePool", "LSTM"} & set(names)
    parameters = []
    for name in names:
        marks = [] if name in quick else [pytest.mark.slow]
        parameters.append(pytest.param(name, marks=marks))
    return parameters


@pytest.mark.parametrize("name", operators())
def test_every_case_of_an_operator_has_the_bits_of_the_cpu(name: str, sim: Any) -> None:
    for example in examples_of(registry.find("operators", name)):
        key = (3, 4) if example.operator.random else None
        for composed in (False, True):
            found = outcome(sim, example, composed, key)
            with without_lstm_of_onednn(name):
                right = outcome(HOST, example, composed, key)
            assert found == right, example.name
        if example.differentiates and key is None:
            expected = gradients(HOST, example)
            assert gradients(sim, example) == expected, example.name


def outcome(fw: Any, example: Example, composed: bool, key: Any) -> Any:
    """The bytes of the outputs, or that the framework does not offer the operator."""
    try:
        found = fw.evaluate(example.operator, example.inputs, composed, key)
    except Unsupported:
        return "unsupported"
    return [(y.shape, y.dtype, y.tobytes()) for y in found]


def gradients(fw: Any, example: Example) -> Any:
    found = fw.gradient(example.operator, example.inputs, example.seeds)
    return [None if g is None else g.tobytes() for g in found]


# ---- networks


def each_network() -> list[Any]:
    parameters = []
    for kind in architectures():
        marks = [] if kind.__name__ in QUICK_NETWORKS else [pytest.mark.slow]
        parameters.append(pytest.param(kind, marks=marks, id=kind.__name__))
    return parameters


@pytest.mark.parametrize("kind", each_network())
def test_a_training_has_the_bits_of_the_cpu(kind: type[Architecture], sim: Any) -> None:
    with without_lstm_of_onednn(kind.__name__):
        right = trained(HOST, tiny(kind))
    found = trained(sim, tiny(kind))
    assert found[0] == right[0]
    assert same_bits(found[1], right[1]) and same_bits(found[2], right[2])


def trained(fw: Any, net: Network) -> tuple[list[float], Arrays, Arrays]:
    """Losses of steps, whole and in halves, the parameters after them, and what an inference gives then."""
    executor = fw.executor(net, seed=5)
    step = executor.training_step(d5.optimizers.Adam())
    losses = [step(batch(net, i))["loss"] for i in range(2)]
    step.backprop(batch(net, 2))
    gradients = {name: np.array(g) for name, g in executor.flat_gradients().items()}
    step.apply(gradients)
    step.load_state(step.state())
    losses.append(step(batch(net, 3))["loss"])
    outputs = executor.inference(batch(net))
    arrays = {name: np.array(fw.array(value)) for name, value in outputs.items()}
    values = [float(fw.array(loss)) for loss in losses]
    return values, executor.arrays(), arrays


STEPS = {
    "digits_cnn": d5.networks.DigitsCnn,
    "resnet": d5.networks.ResNet,
    "gpt": d5.networks.GPT,
}


@pytest.mark.parametrize("optimizer", ["Adam", "Momentum", "LAMB"])
@pytest.mark.parametrize("kind", STEPS.values(), ids=STEPS.keys())
def test_a_step_copies_nothing_to_the_host_and_waits_for_nothing(
    kind: type[Architecture], optimizer: str, sim: Any
) -> None:
    net = tiny(kind)
    executor = sim.executor(net, seed=5)
    step = executor.training_step(registry.find("optimizers", optimizer)(0.01))
    step(batch(net))
    with simulated_device.counting() as counts:
        step(batch(net, 1))
    assert counts.copies_to_host == 0, counts
    assert counts.waits == 0, counts
    keys = 1 if executor.random else 0
    assert counts.copies_to_device == len(net.inputs) + keys


def test_parameters_and_results_are_on_the_device(sim: Any) -> None:
    net = tiny(d5.networks.DigitsCnn)
    executor = HOST.executor(net, device="sim:1")
    step = executor.training_step(d5.optimizers.Momentum(0.1))
    outputs = step(batch(net))
    for value in (*executor.params.values(), *outputs.values()):
        assert str(value.device) == "sim:1"
    assert executor.framework.device == "sim:1" and HOST.device == "cpu"
    assert executor.inference(outputs | batch(net))["loss"].device.index == 1


@pytest.mark.parametrize("name", ["Adam", "SGD", "Momentum", "AdamW"])
def test_optimizers_of_pytorch_have_the_bits_of_the_cpu(name: str) -> None:
    from deep500.frameworks import native_optimizers

    native: dict[str, Any] = native_optimizers("pytorch")
    optimizer = native[f"{name}Optimizer"](0.01)
    net = tiny(d5.networks.DigitsCnn)
    results = []
    for device in ("cpu", "sim"):
        executor = HOST.executor(net, device=device)
        step = executor.training_step(optimizer)
        step(batch(net))
        step.load_state(step.state())
        step(batch(net, 1))
        results.append(executor.arrays())
    assert same_bits(*results)


# ---- flat buffers


def test_flat_buffers_are_copies_that_are_counted(sim: Any) -> None:
    net = tiny(d5.networks.DigitsCnn)
    executor = sim.executor(net)
    params = executor.flat_params()
    doubled = {dtype: 2 * buffer for dtype, buffer in params.items()}
    executor.load_flat_params(doubled)
    assert executor.copies == {"to host": 1, "to device": 1}
    back = executor.flat_params()
    assert all(np.array_equal(back[dtype], doubled[dtype]) for dtype in doubled)


@pytest.mark.parametrize("bucket_bytes", [256, 1 << 20])
def test_the_buffers_that_backprop_reports_are_those_that_are_sent(
    bucket_bytes: int, sim: Any
) -> None:
    """A port that reports other memory than it returns trains every rank on its own gradients, without an error."""
    results = {}
    for fw in (HOST, sim):
        executor = fw.executor(tiny(d5.networks.DigitsCnn))
        step = executor.training_step(d5.optimizers.SGD(0.1))
        reported: list[np.ndarray] = []

        def halve(part: np.ndarray, reported: list = reported) -> None:
            reported.append(part.copy())
            part *= 0.5  # as an allreduce in place would

        buckets = executor.layout.buckets(bucket_bytes)
        net = tiny(d5.networks.DigitsCnn)
        _, buffers = step.backprop_in_buckets(batch(net), buckets, halve)
        assert len(reported) == len(buckets)
        executor.load_flat_gradients(buffers)
        step.update()
        results[fw.word] = (reported, executor.arrays())
    (right_parts, right), (parts, found) = results.values()
    for a, b in zip(right_parts, parts, strict=True):
        assert a.any() and a.tobytes() == b.tobytes()
    assert same_bits(found, right)


@pytest.mark.parametrize("scheme", ["AllReduce(bucket_bytes=1024)", "AllReduce()"])
def test_ranks_on_the_device_train_as_on_the_cpu(scheme: str) -> None:
    results = []
    for device in ("cpu", "sim"):
        recipe = recipe_on(device, d5.networks.Mlp(hidden=(8,)))
        run = d5.simulate(scheme, recipe, ranks=2, epochs=1)
        assert same_bits(run.results[0], run.results[1])
        results.append(run.results[0])
    assert same_bits(*results)


def recipe_on(device: str, model: Any) -> d5.Recipe:
    return d5.Recipe(
        "digits",
        {"model": model, "dataset": "digits", "epochs": 1},
        {
            "batch_size": 256,
            "executor": "pytorch",
            "executor_kwargs": {"device": device},
            "optimizer": d5.optimizers.SGD(0.1),
        },
        [(d5.TestAccuracy(), None)],
    )


# ---- wrapped modules


class Drops(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(6, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def wrapped(device: str | None) -> list[float]:
    torch.manual_seed(0)
    model = Drops()
    loss = torch.nn.CrossEntropyLoss()
    executor = HOST.from_model(model, loss=loss, seed=3, device=device)
    step = executor.training_step(d5.optimizers.Adam())
    rng = np.random.default_rng(0)
    inputs = {
        "x": rng.standard_normal((BATCH, 6)).astype("float32"),
        "label": rng.integers(0, 3, BATCH),
    }
    return [float(HOST.array(step(inputs)["loss"])) for _ in range(3)]


def test_a_wrapped_module_moves_to_the_device_and_draws_by_the_same_seed() -> None:
    assert wrapped("sim") == wrapped(None)


def test_a_module_that_is_on_a_device_stays_there() -> None:
    model = Drops().to("sim:1")
    executor = HOST.from_model(model)
    outputs = executor.inference({"x": np.zeros((2, 6), "float32")})
    assert executor.framework.device == "sim:1"
    assert str(outputs["output"].device) == "sim:1"


def test_a_module_on_two_devices_is_refused_in_one_line() -> None:
    model = Drops()
    model.layers[0].to("sim")
    with pytest.raises(Deep500Error, match=r"on several devices \(cpu, sim:0\)"):
        HOST.from_model(model)


# ---- what computes on the host


class Twice(d5.CustomPythonOp):
    """2 x in NumPy."""

    def forward(self, inputs: Sequence[np.ndarray]) -> np.ndarray:
        return 2 * inputs[0]


def test_operators_of_the_host_are_refused_by_name(sim: Any) -> None:
    x = np.ones(3, "float32")
    with pytest.raises(Unsupported, match=r"Twice .*host's memory.*pytorch@sim:0"):
        sim.evaluate(Twice().operator, [x])


def test_a_batch_on_another_device_is_brought_or_refused_in_one_line(sim: Any) -> None:
    net = tiny(d5.networks.DigitsCnn)
    there = {name: torch.as_tensor(x).to("sim:1") for name, x in batch(net).items()}
    here = sim.executor(net).inference(there)
    right = sim.executor(net).inference(batch(net))
    assert torch.equal(here["logits"], right["logits"])
    with pytest.raises(Deep500Error) as caught:
        HOST.executor(net).inference(there)
    assert "\n" not in str(caught.value)


def test_kernels_in_cuda_are_not_the_simulated_devices(sim: Any) -> None:
    class Kernels(CppOp):
        name, runs_on_cuda = "square", True

        def __init__(self) -> None: ...

    with pytest.raises(Unsupported, match=r"square has kernels in CUDA, which py"):
        sim.check_custom_op(Kernels())
    HOST.check_custom_op(Kernels())


def test_what_does_not_fit_is_told_with_what_there_is(sim: Any) -> None:
    net = d5.networks.Mlp(hidden=(512,)).build((64,), 10)
    adam = d5.optimizers.Adam()
    with no_more_memory("cannot build the network 'Mlp': OutOfMemoryError"):
        sim.executor(net)
    executor = sim.executor(net)
    with no_more_memory(r"the state of Adam.* for 'Mlp' has no place on pytorch@sim:0"):
        executor.training_step(adam)
    step = executor.training_step(adam)
    with no_more_memory("cannot differentiate the network 'Mlp'"):
        step({"x": np.zeros((900, 64), "float32"), "label": np.zeros(900, "int64")})


@contextmanager
def no_more_memory(text: str) -> Iterator[None]:
    gc.collect()
    used = torch.accelerator.memory_allocated(0)
    numbers = rf".* bytes were asked for, {used} of {used} are in use"
    with (
        simulated_device.memory(used),
        pytest.raises(Deep500Error, match=text + numbers),
    ):
        yield


# ---- recipes


def test_a_recipe_trains_on_the_device_and_the_plan_says_which(tmp_path: Path) -> None:
    losses = []
    for device in ("cpu", "sim:1"):
        recipe = recipe_on(device, d5.networks.Mlp(hidden=(8,)))
        outcome = run(recipe, tmp_path / device.replace(":", ""), seeds=1)
        losses.append(outcome.record.blocks[-1])
        plan = outcome.record.plan
    device_info = DeviceInfo("sim:1", "simulated on the CPU", "Deep500", 4 << 30)
    assert plan.device == device_info
    assert "simulated on the CPU" in terminal(outcome.record.report())
    assert verify(outcome.bundle).ok
