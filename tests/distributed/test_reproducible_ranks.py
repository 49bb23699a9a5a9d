"""Reproducible training on real ranks: the weights of one rank; ranks of other versions are refused."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.cli import main
from deep500.contracts.recipe import Recipe
from deep500.distributed.recipe_ranks import RecipeRanks
from deep500.errors import Deep500Error

SETTINGS = ("--tier", "tiny", "--seeds", "1", "--reproducible", "8")


def weights(out: Path, *more: str) -> str:
    main(["run", "digits_mlp", *SETTINGS, "--out", str(out), *more])
    return hashlib.sha256((out / "weights-0.safetensors").read_bytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["mpi", "torch"])
def test_real_ranks_train_to_the_weights_of_one(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["d5"])
    alone = weights(tmp_path / "alone")
    out = tmp_path / "two"
    options = ["--ranks", "2", "--transport", transport, "--out", str(out)]
    words = ["run", "digits_mlp", *SETTINGS, *options]
    monkeypatch.setattr("sys.argv", ["d5", *words])
    main(words)
    two = (out / "weights-0.safetensors").read_bytes()
    assert hashlib.sha256(two).hexdigest() == alone


@pytest.mark.parametrize(
    ("fact", "message"),
    [
        ("version of pytorch", "rank 1 has the version of pytorch 0.4"),
        (
            "ATEN_CPU_CAPABILITY of the environment",
            "rank 1 has the ATEN_CPU_CAPABILITY of the environment 0.4, and rank 0 has",
        ),
    ],
)
def test_ranks_with_other_kernels_are_refused(
    fact: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(
        "small",
        {"model": "mlp", "dataset": "digits", "epochs": 1},
        {
            "batch_size": 8,
            "executor": d5.framework("pytorch").from_model,
            "optimizer": d5.optimizers.SGD(0.1),
            "reproducible": True,
        },
        [(d5.TestAccuracy(), None)],
    )
    group: Any = object.__new__(RecipeRanks)
    group.recipe = recipe
    group.has_followers = True
    gathered = lambda facts: [facts, {**facts, fact: "0.4"}]  # noqa: E731
    monkeypatch.setattr(group, "_gathered", gathered)
    with pytest.raises(Deep500Error, match=message):
        group._check_same()
    group.recipe = recipe.with_settings({"reproducible": "fixed"}, "closed")
    group._gathered = lambda facts: [facts, facts]
    group._check_same()
    assert fact not in group._facts()  # such kernels do not depend on it
