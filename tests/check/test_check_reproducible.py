"""d5 check reproducible: one hash over layouts, or the first step and tensor that part."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.check.check_reproducible import CheckReproducible
from deep500.check.layouts.layout import RankLayout, layouts
from deep500.check.report import CheckResult
from deep500.contracts.leaves import Leaves
from deep500.errors import Deep500Error, Unsupported
from deep500.frameworks import framework
from deep500.training import leaf_step, reproducible_step, whole_numbers
from deep500.training.fixed_step import FixedStep
from deep500.training.leaf_step import LeafStep

FEW = [
    RankLayout(),
    RankLayout(3),
    RankLayout(2, bucket_bytes=1000, collective="Ring()"),
    RankLayout(backwards=True),
    RankLayout(resumed=True),
]


@pytest.fixture
def few_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "deep500.check.layouts.layout.layouts", lambda ranks, transports: FEW
    )


KERNELS = ["fixed", "framework"]


def results(
    recipe: str = "digits_mlp",
    where: str = "reference",
    kernels: str = "fixed",
    steps: int = 4,
    **fields: Any,
) -> list[CheckResult]:
    check = CheckReproducible(steps=steps, **fields)
    subject = check.load(recipe, {"reproducible": f"16,{kernels}"})
    return list(check.questions(subject, where, lambda _: None))


@pytest.mark.usefixtures("few_layouts")
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("where", ["reference", "pytorch"])
def test_one_hash(where: str, kernels: str) -> None:
    *every, last = results(where=where, kernels=kernels)
    assert [result.verdict for result in every] == ["ok"] * len(FEW), every
    assert last.ok and "in 5 of 5 layouts" in last.text


@pytest.mark.usefixtures("few_layouts")
def test_leaves_of_ranks_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = LeafStep._leaves

    def of_a_rank(step: LeafStep, share: Any) -> Any:
        whole = Leaves(max(1, share.size), step.leaves.fraction)
        monkeypatch.setattr(step, "leaves", whole)
        return real(step, share._replace(first_row=0))

    monkeypatch.setattr(LeafStep, "_leaves", of_a_rank)
    found = {result.case: result for result in results(kernels="framework")}
    wrong = found["3 virtual ranks"]
    assert wrong.ok is False
    assert wrong.text.startswith("step 1: the loss is the first that differs")
    assert "so that leaves depend on the layout" in wrong.text


def test_a_plain_sum_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves are added as floats, in the memory of the whole numbers; no ranks, which would add these."""
    two = [RankLayout(), RankLayout(backwards=True)]
    monkeypatch.setattr(
        "deep500.check.layouts.layout.layouts", lambda ranks, transports: two
    )

    def add(values: Any, total: np.ndarray, scale: float, limit: float) -> bool:
        floats = total.view(np.float64)
        floats += (values * np.float32(scale * 2.0**-40)).astype(np.float32)
        floats[:] = floats.astype(np.float32)
        return True

    def write(total: np.ndarray, fraction: int, out: np.ndarray) -> None:
        out[:] = total.view(np.float64)

    monkeypatch.setattr(whole_numbers, "add_rounded", add)
    monkeypatch.setattr(reproducible_step, "write_values", write)
    monkeypatch.setattr(leaf_step, "write_values", write)
    found = {result.case: result for result in results(kernels="framework")}
    wrong = found["no ranks, leaves in reverse order"]
    assert wrong.ok is False
    assert "all leaves have the same gradients, so that their sum" in wrong.text
    assert found["no ranks"].ok


@pytest.mark.usefixtures("few_layouts")
def test_fixed_kernels_that_depend_on_the_rank_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The planted error: a rank's examples are one leaf."""
    real = FixedStep._part

    def of_a_rank(step: FixedStep, share: Any) -> Any:
        return replace(real(step, share), leaf=max(1, share.size))

    monkeypatch.setattr(FixedStep, "_part", of_a_rank)
    with pytest.raises(Unsupported, match="mixes examples of a batch"):
        results()  # the step itself looks at its first batch
    monkeypatch.setattr(FixedStep, "_check_examples_apart", lambda *_: None)
    found = {result.case: result for result in results()}
    wrong = found["3 virtual ranks"]
    assert wrong.ok is False
    assert "the first that differs" in wrong.text


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("where", ["reference", "pytorch"])
@pytest.mark.parametrize("recipe", ["digits_mlp", "digits_cnn"])
def test_all_layouts(recipe: str, where: str, kernels: str) -> None:
    *every, last = results(recipe, where, kernels)
    assert len([result for result in every if result.ok]) >= 18
    assert last.ok, [result for result in every if not result.ok]


@pytest.mark.usefixtures("few_layouts")
def test_a_single_step_is_interrupted_at_its_end() -> None:
    *every, last = results(steps=1)
    assert all(result.ok for result in every), every
    assert last.ok


def test_at_least_18_layouts_have_names_of_their_own() -> None:
    names = [layout.name for layout in layouts(8, ("virtual", "mpi", "torch"))]
    assert len(set(names)) == len(names) >= 18


@pytest.mark.parametrize(
    ("fields", "recipe", "settings", "message"),
    [
        ({"ranks": 0}, "digits_mlp", {}, "--ranks 0: give 1 to 64"),
        ({"steps": 0}, "digits_mlp", {}, "--steps 0: give 1 to 10000"),
        ({"tier": "huge"}, "digits_mlp", {}, "huge"),
        ({"transport": ("pigeon",)}, "digits_mlp", {}, "pigeon"),
        ({}, "digits_mpl", {}, "there is no recipe digits_mpl. Did you mean"),
        ({}, "digits_mlp", {"epochs": 3}, "FIXED"),
    ],
)
def test_bad_requests(
    fields: dict[str, Any], recipe: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        CheckReproducible(**fields).accept(recipe, settings)


def test_a_framework_that_cannot_says_why() -> None:
    if not framework("onnxruntime").available():
        pytest.skip("needs ONNX Runtime")
    with pytest.raises(Deep500Error, match="onnxruntime cannot train reproducibly"):
        results(where="onnxruntime")


@pytest.mark.slow
def test_the_command_prints_one_hash(tmp_path: Path) -> None:
    command = ["-m", "deep500.cli", "check", "reproducible", "digits_mlp"]
    options = ["--ranks", "2", "--steps", "2", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, *command, *options], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "SHA-256" in done.stdout
