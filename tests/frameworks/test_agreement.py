"""The same network, weights and batches on every framework: the same losses and gradients, within an error bound.

In float64, or in float32 on data without ties: one tie in a MaxPool sends a gradient elsewhere and parts the curves.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest

from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer
from deep500.frameworks import framework
from deep500.networks import DigitsCnn, Mlp
from deep500.optimizers.adam import Adam
from deep500.optimizers.momentum import Momentum

STEPS, BATCH = 20, 16
# seen: up to 4 roundings
BOUNDS = {dtype: 100 * float(np.finfo(dtype).eps) for dtype in ("float64", "float32")}
OTHERS = ["pytorch", "jax", "tensorflow", "onnxruntime"]
ADAM = Adam(learning_rate=0.003)


@dataclass
class Trace:
    """What a short training leaves behind."""

    start: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray]  # of the first batch
    losses: list[float]
    end: dict[str, np.ndarray]


def network_of(kind: str, dtype: str) -> Network:
    definition = (
        DigitsCnn(channels=(2, 4), hidden=(12, 8))
        if kind == "cnn"
        else Mlp(hidden=(12, 8))
    )
    return definition.build((1, 8, 8), 5, seed=3, dtype=dtype)


def batches(dtype: str) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(11)
    return [
        {
            "x": rng.standard_normal((BATCH, 1, 8, 8)).astype(dtype),
            "label": rng.integers(0, 5, BATCH),
        }
        for _ in range(STEPS)
    ]


@cache
def reference(kind: str, dtype: str, optimizer: Optimizer = ADAM) -> Trace:
    return trained("reference", network_of(kind, dtype), dtype, optimizer)


def trained(name: str, network: Network, dtype: str, optimizer: Optimizer) -> Trace:
    engine = framework(name)
    engine.set_threads(1)
    executor: Executor = engine.executor(network)
    start = executor.arrays()
    executor.inference_and_backprop(batches(dtype)[0])
    gradients = {
        param: np.array(engine.array(value))
        for param, value in executor.gradients.items()
    }
    step = executor.training_step(optimizer)
    losses = [float(engine.array(step(batch)["loss"])) for batch in batches(dtype)]
    return Trace(start, gradients, losses, executor.arrays())


def disagreement(a: Trace, b: Trace, bound: float) -> str | None:
    """What differs first, or None: bits at the start, then gradients, losses and final weights within the bound."""
    for name, value in a.start.items():
        if value.tobytes() != b.start[name].tobytes():
            return f"{name} does not start from the same bits"
    for name, value in a.gradients.items():
        if not close(value, b.gradients[name], bound):
            return f"the gradient of {name}"
    for step, (x, y) in enumerate(zip(a.losses, b.losses, strict=True), 1):
        if not close(np.array(x), np.array(y), bound):
            return f"the loss of step {step}"
    return next(
        (
            f"{name} at the end"
            for name, value in a.end.items()
            if not close(value, b.end[name], bound)
        ),
        None,
    )


def close(a: np.ndarray, b: np.ndarray, bound: float) -> bool:
    """Relative to the largest element: cancellation makes small ones uncertain."""
    return a.shape == b.shape and bool(np.abs(a - b).max() <= bound * np.abs(a).max())


@pytest.mark.parametrize(
    ("kind", "other", "dtype"),
    [
        ("mlp", "pytorch", "float32"),
        ("mlp", "pytorch", "float64"),
        ("mlp", "onnxruntime", "float32"),
        ("mlp", "onnxruntime", "float64"),
        ("cnn", "pytorch", "float32"),
        ("cnn", "pytorch", "float64"),
        ("cnn", "onnxruntime", "float32"),
        *(
            (kind, other, dtype)
            for kind in ("mlp", "cnn")
            for other in ("jax", "tensorflow")
            for dtype in ("float32", "float64")
        ),
        pytest.param(
            "cnn", "onnxruntime", "float64", marks=pytest.mark.slow
        ),  # has no such Conv: a long formula
    ],
)
def test_frameworks_agree(kind: str, other: str, dtype: str) -> None:
    right, found = (
        reference(kind, dtype),
        trained(other, network_of(kind, dtype), dtype, ADAM),
    )
    assert disagreement(right, found, BOUNDS[dtype]) is None
    assert right.losses[-1] < right.losses[0]


@pytest.mark.parametrize("other", OTHERS)
def test_frameworks_agree_with_another_optimizer(other: str) -> None:
    rule = Momentum(learning_rate=0.01)
    found = trained(other, network_of("mlp", "float32"), "float32", rule)
    assert (
        disagreement(reference("mlp", "float32", rule), found, BOUNDS["float32"])
        is None
    )


@pytest.mark.parametrize("other", OTHERS)
def test_a_flipped_bit_is_caught(other: str) -> None:
    network = network_of("mlp", "float32")
    right = reference("mlp", "float32")
    flat = network.params["fc1.weight"].reshape(-1).view(np.uint32)
    flat[7] ^= 1  # the last digit: no curve would show it
    found = trained(other, network, "float32", ADAM)
    assert (
        disagreement(right, found, BOUNDS["float32"])
        == "fc1.weight does not start from the same bits"
    )
    assert disagreement(replace(right, start={}), found, BOUNDS["float32"]) is None
    flat[7] ^= 1 << 23  # twice or half the weight: gradients show it too
    found = trained(other, network, "float32", ADAM)
    assert "gradient" in str(
        disagreement(replace(right, start={}), found, BOUNDS["float32"])
    )


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize(
    "wrong", [{"beta2": 0.998}, {"epsilon": 1e-6}, {"learning_rate": 0.00301}]
)
def test_a_wrong_optimizer_constant_is_caught(
    other: str, wrong: dict[str, float]
) -> None:
    found = trained(
        other, network_of("mlp", "float32"), "float32", replace(ADAM, **wrong)
    )
    assert "loss of step" in str(
        disagreement(reference("mlp", "float32"), found, BOUNDS["float32"])
    )
