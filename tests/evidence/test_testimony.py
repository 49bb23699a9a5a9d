"""The ledger is asked what it knows of a bundle: it agrees, it differs, or it does not know it."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deep500 import bundle, cli
from deep500.bundle import encoding
from deep500.bundle.records.ledger import Ledger
from deep500.bundle.records.loading import load
from deep500.bundle.records.recording import recorded_diagnosis, recording
from deep500.bundle.records.verification import verify

PLAN = {
    "operator": "Relu",
    "frameworks": ["x"],
    "dtypes": [],
    "seed": 0,
    "attributes": {},
}
BLOCK = {"operator": "Relu", "framework": "x", "kernel": "native", "checks": []}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path) -> Path:
    with recording("check", PLAN, tmp_path / "run") as record:
        record.append(BLOCK)
        record.finish()
    return tmp_path / "run"


def reseal(folder: Path) -> None:
    """Say that it was finished at another time, under a hash that fits again."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["hash"]
    manifest["finished"] = manifest["finished"].replace("+00:00", ".5+00:00")
    manifest["hash"] = encoding.sha256(bundle.canonical(manifest))
    (folder / "manifest.json").write_bytes(bundle.canonical(manifest))


def break_ledger() -> None:
    with closing(sqlite3.connect(Ledger().path)) as database:
        database.execute("DROP TRIGGER no_update")
        database.execute("UPDATE events SET detail = 'fine' WHERE id = 1")
        database.commit()


def test_it_agrees_with_what_a_run_left_and_with_copies(folder, tmp_path, capsys):
    shutil.copytree(folder, tmp_path / "copy")
    for place in (folder, tmp_path / "copy"):
        found = verify(place)
        assert found.ok and found.ledger.word == "agrees"
        assert load(place).verified
    assert cli.main(["verify", str(folder)]) == 0
    assert "the ledger knows this run and agrees" in capsys.readouterr().out


def test_it_differs_from_a_bundle_that_was_resealed_wherever_it_lies(
    folder, tmp_path, capsys
):
    reseal(folder)
    shutil.copytree(folder, tmp_path / "copy")
    for place in (folder, tmp_path / "copy"):
        assert bundle.read(place).problems == []  # its hashes hold
        found = verify(place)
        assert not found.ok and found.ledger.word == "differs"
        assert "resealed after" in found.problems[0]
        assert cli.main(["show", str(place)]) == 1
        assert capsys.readouterr().out.startswith("**NOT VERIFIED")


def test_it_differs_where_the_manifest_was_taken_away(folder):
    (folder / "manifest.json").unlink()
    (folder / "derived.json").unlink()
    assert bundle.read(folder).problems == []  # an unfinished bundle looks like this
    found = verify(folder)
    assert not found.ok and "taken away" in found.problems[0]


def test_it_does_not_know_what_was_made_elsewhere(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "elsewhere"))
    found = verify(folder)
    assert found.ok and found.ledger.word == "unknown"


def test_it_has_no_hash_of_a_run_that_failed(tmp_path):
    with (
        pytest.raises(ValueError),
        recording("check", PLAN, tmp_path / "run") as record,
    ):
        record.append(BLOCK)
        raise ValueError
    found = verify(tmp_path / "run")
    assert (
        found.ok
        and found.ledger.word == "unknown"
        and "it failed" in found.ledger.sentence
    )


def test_a_folder_that_was_used_again_is_the_newer_run(folder):
    shutil.rmtree(folder)
    with recording("check", PLAN | {"seed": 1}, folder) as record:
        record.append(BLOCK)
        record.finish()
    assert verify(folder).ledger.word == "agrees"


def test_a_ledger_that_cannot_be_read_does_not_stop_anyone(folder, home):
    (home / "ledger.sqlite").write_text("no database")
    found = verify(folder)
    assert found.ok and found.ledger.word == "unreadable"
    assert load(folder).verified


def test_a_broken_ledger_is_reported_by_verify_list_and_doctor(
    folder, tmp_path, capsys
):
    assert cli.main(["list"]) == 0 and capsys.readouterr().err == ""
    break_ledger()
    assert "but the ledger is broken" in verify(folder).ledger.sentence
    assert cli.main(["list", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) and "row 1 was changed" in said.err
    record = recorded_diagnosis(0.3, tmp_path / "machine")
    assert any("the ledger is broken" in line for line in record.derived.advice)
