"""Histories of a name, and the gate whose control is the base against itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli

from .entries import date, forger


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve nightly runs, of which the last six are slower."""
    folder = tmp_path_factory.mktemp("history") / "nights"
    for day in range(12):
        entry = forger(1.0 if day < 6 else 1.5, spread=0.005 + day / 1e5)
        entry.plan["recipe"]["mutable"]["optimizer_args"] = [0.1]
        entry.rehash()
        date(entry, day)
        entry.seal(folder / f"night-{day:02d}")
    return folder


def test_a_slow_down_is_found_with_its_night(nights: Path, capsys: Any) -> None:
    words = ["history", "steps", "--folder", str(nights)]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    [series] = found["series"]
    [shift] = series["shifts"]
    assert (shift["before"], shift["after"]) == ("night-05", "night-06")
    assert shift["verdict"] == "worse" and shift["low"] < 1 / 1.5 < shift["high"]
    assert cli.main([*words, "--gate"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "1 change in 12 results" in text and "from night-06 on" in text


def test_the_page_of_a_history(nights: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["history", "steps", "--folder", str(nights), "--out", str(page)]
    assert cli.main(words) == 0
    text = page.read_text()
    assert "<svg" in text and "1 change in 12 results" in text
    first = page.read_bytes()
    assert cli.main(words) == 0 and page.read_bytes() == first


def test_an_entry_names_the_series_that_it_is_in(nights: Path, capsys: Any) -> None:
    entry = sorted(path.name for path in nights.iterdir() if path.is_dir())[0]
    assert cli.main(["history", entry, "--folder", str(nights), "--json"]) == 0
    [series] = json.loads(capsys.readouterr().out)["series"]
    assert entry in [point["entry"] for point in series["points"]]
    assert len(series["points"]) > 5


def test_an_unknown_name_is_one_line(nights: Path, capsys: Any) -> None:
    assert cli.main(["history", "step", "--folder", str(nights)]) == 2
    error = capsys.readouterr().err
    assert "Did you mean 'steps'?" in error and len(error.splitlines()) == 1


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """What a job of CI measures: the base twice, and the change."""
    for name, rate, seed in (("a", 1.0, 0.01), ("a2", 1.0, 0.011), ("b", 1.6, 0.012)):
        entry = forger(rate, spread=seed)
        entry.plan["recipe"]["mutable"]["optimizer_args"] = [0.1]
        entry.rehash()
        entry.seal(tmp_path / name)
    return tmp_path


def gate(job: Path, a: str, b: str, control: str, *words: str) -> int:
    places = [str(job / name) for name in (a, b)]
    more = ["--gate", "--again", str(job / control), *words]
    return cli.main(["compare", *places, *more])


def test_a_slower_change_fails_the_gate(job: Path, capsys: Any) -> None:
    assert gate(job, "a", "b", "a2") == 1
    assert "control: A against its repetition shows no difference" in (
        capsys.readouterr().out
    )
    assert gate(job, "a", "b", "a2", "--json") == 1
    assert json.loads(capsys.readouterr().out)["control"]["holds"] is True


def test_a_machine_that_makes_differences_decides_nothing(
    job: Path, capsys: Any
) -> None:
    """The planted error: the repetition of A was 60 % slower, so nobody knows what B shows."""
    assert gate(job, "a", "a2", "b") == 3
    assert "CONTROL FAILED" in capsys.readouterr().out


def test_a_control_is_a_repetition(job: Path, capsys: Any) -> None:
    other = forger(1.0)
    other.seal(job / "other")
    assert gate(job, "a", "b", "other") == 2
    assert "is no repetition of" in capsys.readouterr().err
    assert gate(job, "a", "b", "a") == 2
    assert "the same result" in capsys.readouterr().err
    words = ["compare", str(job / "a"), str(job / "b"), "--again", str(job / "a2")]
    assert cli.main(words) == 2
    assert "--again is for --gate" in capsys.readouterr().err
