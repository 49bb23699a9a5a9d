"""One recipe on every framework: the same first weights, order of the data and losses, and the same quality."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.bundle.records.bundle_comparison import compare
from deep500.contracts.metric import History
from deep500.contracts.recipe import Recipe
from deep500.rerun.recipe_runner import run
from deep500.training.outcome import trained_runs

FRAMEWORKS = ("reference", "pytorch", "jax", "tensorflow", "onnxruntime")
STEPS = 20
EPSILON = 2.0**-24  # of float32
GROWTH = 64  # how much of it a loss may gather in a step: three matrix products and their gradients


class Scattered(d5.Dataset):
    """Points with four classes; no two features are equal, so that nothing depends on how ties are broken."""

    dtype: str = "float32"

    def load(self) -> dict[str, d5.Split]:
        rng = np.random.default_rng(4)
        x = rng.standard_normal((400, 12)).astype(np.float32).astype(self.dtype)
        label = np.argmax(x[:, :4], axis=1)
        parts = {
            "train": slice(0, 320),
            "validation": slice(320, 360),
            "test": slice(360, 400),
        }
        return {
            name: d5.Split({"x": x[rows], "label": label[rows]})
            for name, rows in parts.items()
        }


class Smooth(d5.Model):
    """Two layers with tanh, in either precision, from the same weights."""

    dtype: str = "float32"

    def build(self, shape: Any, outputs: int, seed: int = 0) -> d5.Network:
        rng = np.random.default_rng(seed)
        network = d5.Network("smooth")
        network.add_input("x", (0, *shape), self.dtype)
        for name, size in (("w1", (*shape, 24)), ("w2", (24, outputs))):
            values = (rng.standard_normal(size) / 4).astype(np.float32)
            network.add_param(name, values.astype(self.dtype))
        hidden = network.add_node("Tanh", [network.add_node("MatMul", ["x", "w1"])])
        network.add_output(network.add_node("MatMul", [hidden, "w2"], ["logits"]))
        return network


def recipe(framework: str, dtype: str = "float32", epochs: int = 2) -> Recipe:
    fixed = {"model": Smooth(dtype), "dataset": Scattered(dtype), "epochs": epochs}
    optimizer = d5.optimizers.Momentum(0.1, 0.9)
    mutable = {"batch_size": 32, "executor": framework, "optimizer": optimizer}
    return Recipe("smooth", fixed, mutable, [(d5.TestAccuracy(), None)])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def history(framework: str, folder: Path, dtype: str = "float32") -> History:
    outcome = run(recipe(framework, dtype), folder, "small", seeds=1)
    [only] = trained_runs(outcome.record.blocks)
    return only


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> list[float]:
    """The losses in float64, from the same weights and data."""
    folder = tmp_path_factory.mktemp("exact")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        return history("reference", folder / "run", "float64").losses


def largest_share(losses: list[float], exact: list[float]) -> float:
    """The largest error of the first steps, as a share of what rounding can explain at that step."""
    shares = []
    for step in range(STEPS):
        bound = GROWTH * EPSILON * (step + 1) * abs(exact[step])
        shares.append(abs(losses[step] - exact[step]) / bound)
    return max(shares)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_first_losses_are_those_of_float64(
    framework: str, exact: list[float], tmp_path: Path
) -> None:
    losses = history(framework, tmp_path / "run").losses
    assert len(losses) == STEPS and largest_share(losses, exact) < 1


def test_another_order_or_another_rate_is_noticed(
    exact: list[float], tmp_path: Path
) -> None:
    planted = recipe("reference").with_settings(
        {"optimizer": d5.optimizers.Momentum(0.1001, 0.9)}
    )
    [other] = trained_runs(
        run(planted, tmp_path / "run", "small", seeds=1).record.blocks
    )
    assert largest_share(other.losses, exact) > 1


@pytest.mark.slow
def test_the_quality_is_equivalent_on_every_framework(tmp_path: Path) -> None:
    """Within 1.5 points over five paired seeds; nothing may be called different."""
    bundles = {}
    for framework in FRAMEWORKS:
        outcome = run(
            recipe(framework, epochs=10), tmp_path / framework, "small", seeds=5
        )
        bundles[framework] = outcome.bundle
    for framework, folder in bundles.items():
        compared = compare(bundles["reference"], folder, equivalent=1.5)
        assert compared.equivalence == "equivalent", framework
