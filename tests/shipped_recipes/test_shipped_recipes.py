"""The recipes that come with Deep500: every tiny tier on one framework, one of them on all, every pair if slow."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
import safetensors.numpy

import deep500 as d5
from deep500 import bundle
from deep500.bundle.records.verification import verify
from deep500.errors import Deep500Error
from deep500.rerun.recipe_files import known_recipes, load_recipe
from deep500.rerun.recipe_runner import Outcome, run
from deep500.rerun.replay import replay

from .data_files import write_cifar10, write_mnist, write_text

FRAMEWORKS = ("reference", "pytorch", "jax", "tensorflow", "onnxruntime")
WITHOUT_FILES = (
    "diabetes_regression",
    "digits_autoencoder",
    "digits_cnn",
    "digits_gan",
    "digits_logistic",
    "digits_mlp",
    "heat_surrogate",
)
WITH_FILES = {
    "cifar10_resnet44": write_cifar10,
    "fashion_mnist_cnn": write_mnist,
    "mnist_lenet": write_mnist,
    "text_gpt": write_text,
}
NAMES = (*WITHOUT_FILES, *WITH_FILES)
WITH_RANKS = ("digits_cnn_distributed",)  # tests of distributed training run these
AS_PRINTED = "fd1e4f24672fe22fce94f52720b526b809fd83c7e27e07cda2cc0932ef81afc2"  # of the 36 lines on the slide


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def tiny(name: str, framework: str, folder: Path, seeds: int = 1) -> Outcome:
    """The tiny tier on a framework, with small files where the recipe reads some."""
    data = None
    if name in WITH_FILES:
        data = folder / "data"
        WITH_FILES[name](data)
    changes: dict[str, Any] = {"executor": d5.framework(framework).from_model}
    recipe = load_recipe(name)
    if name == "cifar10_resnet44":
        changes |= {"executor_kwargs": {"device": d5.CPUDevice()}}
        if framework != "pytorch":
            changes |= {
                "optimizer": d5.optimizers.Momentum,
                "optimizer_args": (0.1, 0.9),
            }
    recipe = recipe.with_settings(changes)
    return run(recipe, folder / "run", "tiny", seeds=seeds, data=data)


def test_every_recipe_is_listed_and_has_words() -> None:
    known = known_recipes()
    assert sorted(known) == sorted((*NAMES, *WITH_RANKS))
    for path in known.values():
        assert path.read_text().startswith('"""')


@pytest.mark.parametrize("name", [name for name in NAMES if name != "cifar10_resnet44"])
def test_every_tiny_tier_runs(name: str, tmp_path: Path) -> None:
    outcome = tiny(name, "pytorch", tmp_path)
    assert verify(outcome.bundle).ok
    losses = outcome.derived.metrics
    assert losses and outcome.record.plan.tier == "tiny"


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_one_of_them_runs_on_every_framework(framework: str, tmp_path: Path) -> None:
    outcome = tiny("digits_mlp", framework, tmp_path)
    assert verify(outcome.bundle).ok and outcome.record.plan.framework == framework


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("name", NAMES)
def test_every_pair(name: str, framework: str, tmp_path: Path) -> None:
    outcome = tiny(name, framework, tmp_path)
    assert verify(outcome.bundle).ok


def test_the_recipe_of_the_talks_is_unchanged() -> None:
    text = known_recipes()["cifar10_resnet44"].read_bytes()
    assert hashlib.sha256(text).hexdigest() == AS_PRINTED


@pytest.mark.slow
def test_the_recipe_of_the_talks_runs_and_is_not_acceptable(tmp_path: Path) -> None:
    outcome = tiny("cifar10_resnet44", "pytorch", tmp_path)
    assert not outcome and verify(outcome.bundle).ok


def test_a_graphics_processor_that_is_not_there_names_the_option(
    tmp_path: Path,
) -> None:
    write_cifar10(tmp_path / "data")
    recipe = load_recipe("cifar10_resnet44")
    with pytest.raises(Deep500Error, match="cannot run on device 'gpu'.*--device cpu"):
        run(recipe, tmp_path / "run", "tiny", data=tmp_path / "data")
    assert not (tmp_path / "run").exists()


def test_missing_and_truncated_files_are_one_line(tmp_path: Path) -> None:
    recipe = load_recipe("mnist_lenet")
    with pytest.raises(Deep500Error, match="train-images") as caught:
        run(recipe, tmp_path / "run", "tiny", data=tmp_path)
    assert "--data" in str(caught.value) and "\n" not in str(caught.value)
    write_mnist(tmp_path)
    images = tmp_path / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-100])
    with pytest.raises(Deep500Error, match="train-images"):
        run(recipe, tmp_path / "run", "tiny", data=tmp_path)
    with pytest.raises(Deep500Error, match="the data set Digits reads no files"):
        run(load_recipe("digits_mlp"), tmp_path / "run", "tiny", data=tmp_path)
    assert not (tmp_path / "run").exists()


def test_the_weights_of_both_networks_of_the_gan_are_kept(tmp_path: Path) -> None:
    outcome = tiny("digits_gan", "reference", tmp_path)
    found = bundle.read(outcome.bundle)
    weights = safetensors.numpy.load(found.load("weights-0.safetensors"))
    assert {"generator/make1.w", "discriminator/judge1.w"} <= weights.keys()
    first: Any = found.blocks[0]
    assert "discriminator loss" in first["series"]
    assert (
        replay(outcome.bundle, known_recipes()["digits_gan"], load_recipe).verdict
        == "same"
    )
