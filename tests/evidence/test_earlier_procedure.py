"""A bundle whose numbers were derived by an earlier procedure: verified by that one, shown by this one."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deep500.bundle import read
from deep500.bundle.writing import create
from deep500.cli import main
from deep500.evidence.loading import load
from deep500.evidence.verification import verify

BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-procedure-1.zip"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def sealed_again(folder: Path, change: dict, procedure: int = 1) -> Path:
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
    assert verify(BEFORE).ok
    derived: Any = read(BEFORE).documents["derived.json"]
    recorded = derived["metrics"][0]
    assert recorded["median"] == pytest.approx(26.574, abs=1e-3)  # a geometric mean
    record = load(BEFORE)
    assert record.verified and record.derived is not None
    accuracy = record.derived["metrics"][0]
    assert accuracy["median"] == sorted(accuracy["values"])[2]


def test_numbers_that_do_not_follow_by_their_procedure_are_found(
    tmp_path: Path,
) -> None:
    assert verify(sealed_again(tmp_path / "same", {})).ok
    forged = verify(sealed_again(tmp_path / "forged", {"median": 99.0}))
    assert not forged.ok and "median says 99.0" in forged.problems[0]
    unknown = verify(sealed_again(tmp_path / "unknown", {}, procedure=0))
    assert "procedure 0, this version computes 2" in unknown.problems[0]
    renamed = verify(sealed_again(tmp_path / "renamed", {}, procedure=2))
    assert not renamed.ok


def test_it_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(BEFORE, tmp_path / "b.zip")
    assert main(["compare", str(BEFORE), str(tmp_path / "b.zip"), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    accuracy = compared["comparisons"][0]
    assert accuracy["verdict"] == "same" and accuracy["value"] == 0
