"""A bundle whose numbers were derived by an earlier procedure: its samples are verified, and shown by this one."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deep500.bundle import read
from deep500.bundle.records.loading import load
from deep500.bundle.records.verification import verify
from deep500.bundle.writing import create
from deep500.cli import main

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-procedure-1.zip"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def sealed_again(folder: Path, change: dict, procedure: Any = 1) -> Path:
    """The bundle with other derived numbers, and every hash right."""
    old = read(BEFORE)
    derived = json.loads(json.dumps(old.documents["derived.json"]))
    derived["procedure"] = procedure
    derived["metrics"][0] |= change
    documents = {
        name: old.documents[name] for name in ("plan.json", "environment.json")
    }
    writer = create(folder, documents, "recipe")
    for block in old.blocks:
        writer.append(block)
    with zipfile.ZipFile(BEFORE) as archive:
        weights = {
            name: archive.read(name) for name in archive.namelist() if "weights" in name
        }
    writer.finish({"derived.json": derived}, weights)
    return folder


def test_it_verifies_and_shows_the_true_median() -> None:
    verification = verify(BEFORE)
    assert verification.ok
    [mark] = verification.remarks
    assert "has the numbers of procedure 1, which are not compared" in mark
    derived: Any = read(BEFORE).documents["derived.json"]
    recorded = derived["metrics"][0]
    assert recorded["median"] == pytest.approx(26.574, abs=1e-3)  # a geometric mean
    record = load(BEFORE)
    assert record.verified and record.derived is not None
    accuracy = record.derived.metrics[0]
    assert accuracy.median == sorted(accuracy.values)[2]


def test_numbers_of_an_earlier_procedure_are_never_shown(tmp_path: Path) -> None:
    forged = sealed_again(tmp_path / "forged", {"median": 99.0})
    assert "which are not compared" in verify(forged).remarks[0]
    shown = load(forged).derived
    assert shown is not None and (shown.metrics[0].median or 0.0) < 99.0


@pytest.mark.parametrize("procedure", [0, -1, 3, "1", None, True])
def test_numbers_of_an_unknown_procedure_are_refused(
    tmp_path: Path, procedure: Any
) -> None:
    unknown = verify(sealed_again(tmp_path / "unknown", {}, procedure))
    [problem] = unknown.problems
    assert "this version computes 2: upgrade deep500-bench" in problem


def test_numbers_of_this_procedure_have_to_follow_from_the_samples(
    tmp_path: Path,
) -> None:
    renamed = verify(sealed_again(tmp_path / "renamed", {}, procedure=2))
    assert not renamed.ok and renamed.problems


def test_it_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(BEFORE, tmp_path / "b.zip")
    assert main(["compare", str(BEFORE), str(tmp_path / "b.zip"), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    accuracy = compared["comparisons"][0]
    assert accuracy["verdict"] == "same" and accuracy["value"] == 0
