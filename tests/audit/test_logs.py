"""Logs of other tools are read as they are, and judged; malformed and hostile ones are refused in one line."""

import json
import os
import pickle
import random
import zipfile
from pathlib import Path

import pytest

from deep500.contracts import log_format
from deep500.dossiers.audit_report import audit_report
from deep500.dossiers.audit_sources import audit_sources
from deep500.dossiers.auditing import all_rules, audit, chosen_rules
from deep500.errors import Deep500Error
from deep500.logs import formats, log_dossier
from deep500.reports.html import html
from deep500.reports.terminal import terminal

from .log_samples import HYPERFINE, LOGS, MLPERF

# name of a log: what is read of its first number (value, unit, n)
FIRST = {
    "nccl.txt": (13.78, "us", 20),
    "imb.txt": (0.09, "us", 1000),
    "mlperf.log": (90.0, "s", 1),
    "pyperf.json": (1.02e-6, "second", 6),
    "pytest.json": (1.2e-6, "s", 1000),
    "hyperfine.json": (0.0113, "s", 3),
    "google.json": (12.5, "ns", 1),
    "asv.json": (1.2e-6, "s", 10),
    "torch.json": (1.1e-5, "s", 3),
    "accuracy.csv": (0.77, None, 1),
}
WITHOUT_NUMBERS = {"rcps.json"}
# rules that fail, and rules that pass, beside those of all other logs
BROKEN = {
    "nccl.txt": "R3 R5 R10",
    "imb.txt": "R5 R10",
    "mlperf.log": "F3",
    "pyperf.json": "R5",
    "pytest.json": "R5",
    "hyperfine.json": "R5 R9 N16",
    "google.json": "R5",
    "asv.json": "",
    "torch.json": "R5 R9",
    "accuracy.csv": "R5 R9 F2",
}
KEPT = {"asv.json": "R5 R6", "imb.txt": "R3", "mlperf.log": "F6", "nccl.txt": "N7"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name, text in LOGS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_format_has_a_sample() -> None:
    # those in bytes have tests of their own
    in_text = [each for each in formats() if each.form != "bytes"]
    assert len(in_text) == len(LOGS) == len(FIRST) + len(WITHOUT_NUMBERS)


@pytest.mark.parametrize("name", FIRST)
def test_it_is_read(name: str, logs: Path) -> None:
    first = log_dossier(logs / name).number[0]
    value, unit, n = FIRST[name]
    assert first.value == pytest.approx(value)
    assert (first.unit, first.n) == (unit, n)
    assert first.origin.file == name


@pytest.mark.parametrize("name", LOGS)
def test_it_is_judged(name: str, logs: Path) -> None:
    result = audit(log_dossier(logs / name), all_rules(), [name])
    failed = {outcome.id for outcome in result.having("FAIL")}
    assert set(BROKEN.get(name, "").split()) <= failed
    passed = {outcome.id for outcome in result.having("PASS")}
    assert set(KEPT.get(name, "").split()) <= passed


@pytest.mark.parametrize("name", LOGS)
def test_a_mutated_log_is_read_or_refused(name: str, tmp_path: Path) -> None:
    """No mutation of a log raises anything but a Deep500Error of one line."""
    rng = random.Random(name)
    text = LOGS[name]
    path = tmp_path / name
    for _ in range(60):
        path.write_text(mutated(text, rng))
        try:
            result = audit(log_dossier(path), all_rules(), [name])
            page = html(audit_report(result))
        except Deep500Error as error:
            assert "\n" not in str(error)
        else:
            assert "<script>x" not in page


SPLINTERS = ["null", "-1", "1e999", "9" * 40, "[]", "{}", '"<script>x</script>"', ""]


def mutated(text: str, rng: random.Random) -> str:
    """The text with one of its numbers or words replaced, or cut off."""
    if rng.random() < 0.2:
        return text[: rng.randrange(len(text))]
    words = text.split(" ")
    place = rng.randrange(len(words))
    ending = "," if words[place].endswith(",") else ""
    words[place] = rng.choice(SPLINTERS) + ending
    return " ".join(words)


def test_pickles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps([1.0]))
    with pytest.raises(Deep500Error, match="is a pickle, which runs code"):
        log_dossier(path)
    saved = tmp_path / "m.pt"
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02.")
    with pytest.raises(Deep500Error, match="is a pickle"):
        log_dossier(saved)


def test_a_giant_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(Deep500Error, match="2147483648 bytes; at most"):
        log_dossier(path)


@pytest.mark.parametrize("name", ["nccl.txt", "imb.txt", "hyperfine.json"])
def test_more_numbers_than_anybody_reads_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_format, "MOST_NUMBERS", 200)
    text = LOGS[name]
    if name.endswith(".txt"):
        *_, row = [line for line in text.splitlines() if line.strip()[:1].isdigit()]
        many = f"{text}\n" + f"{row}\n" * 200
    else:
        many = json.dumps({"results": 201 * json.loads(text)["results"]})
    path = tmp_path / name
    path.write_text(many)
    with pytest.raises(Deep500Error, match="has more than 200 numbers"):
        log_dossier(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    os.mkfifo(path)
    with pytest.raises(Deep500Error, match="not a regular file"):
        log_dossier(path)


UNREADABLE = {
    "unknown format": "hello\n",
    "other JSON": '{"a": 1}',
    "deep JSON": "[" * 100_000,
    "number too large": '{"results": [{"command": "x", "mean": 1' + "0" * 400 + "}]}",
    "number of 5000 digits": '{"results": [{"command": "x", "mean": 1'
    + "0" * 5000
    + "}]}",
    "twice the same key": '{"results": [], "results": []}',
    "bytes that are no text": "\udcff",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_one_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(UNREADABLE[name].encode("utf-8", "surrogateescape"))
    with pytest.raises(Deep500Error) as caught:
        log_dossier(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_hostile_name_is_harmless(tmp_path: Path) -> None:
    document = json.loads(json.dumps(HYPERFINE))
    document["results"][0]["command"] = "<script>alert(1)</script>\x1b[31m"
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    report = audit_report(audit(log_dossier(path), chosen_rules(["R5"]), ["x.json"]))
    assert "<script>alert" not in html(report)
    assert "\x1b" not in terminal(report)


def mlperf_runs(folder: Path, epochs: list[int], lost: int = 0) -> list[Path]:
    """Logs of a submission that converged after so many epochs."""
    paths = []
    for number, last in enumerate([*epochs, *[90] * lost]):
        text = MLPERF.replace('"epoch_num": 2', f'"epoch_num": {last}')
        if number >= len(epochs):
            text = text.replace("success", "aborted")
        path = folder / f"result_{number}.txt"
        path.write_text(text)
        paths.append(path)
    return paths


CONVERGED: dict[str, tuple[list[int], int, str]] = {
    "as the reference": ([41, 40, 41, 42, 40], 0, "PASS"),
    "too fast": ([31, 32, 31, 33, 32], 0, "FAIL"),
    "two lucky runs": ([2, 41, 41, 40, 42], 0, "PASS"),
    "one run lost": ([41, 40, 41, 42], 1, "PASS"),
    "two runs lost": ([31, 31, 31], 2, "WARN"),
    "too few": ([31, 31], 0, "WARN"),
}


@pytest.mark.parametrize("name", CONVERGED)
def test_convergence_beside_the_reference_points(name: str, tmp_path: Path) -> None:
    epochs, lost, verdict = CONVERGED[name]
    reference = tmp_path / "rcps.json"
    reference.write_text(LOGS["rcps.json"])
    logs = mlperf_runs(tmp_path, epochs, lost)
    [found] = audit_sources(reference, *logs, rules=["N17"]).outcomes
    assert found.verdict == verdict, found.findings


def test_published_values_give_the_interval_that_the_tool_does_not(logs: Path) -> None:
    document = json.loads(LOGS["hyperfine.json"])
    [timed] = document["results"]
    timed["times"] = [0.01 + i * 7 % 30 / 1e5 for i in range(30)]
    (logs / "hyperfine.json").write_text(json.dumps(document))
    [found] = audit_sources(logs / "hyperfine.json", rules=["R5"]).outcomes
    text = found.findings[0].text
    assert found.verdict == "FAIL"
    assert "the 30 values have the median 0.01015 [0.01009, 0.0102] s at 95 %" in text
    [few] = audit_sources(logs / "torch.json", rules=["R5"]).outcomes
    assert (
        "its values give none: the median at 95 % was asked of 3 values"
        in few.findings[0].text
    )


def test_parts_that_failed_are_no_times(logs: Path) -> None:
    document = json.loads(LOGS["google.json"])
    failed = {
        "name": "BM_Gpu",
        "real_time": 0.0,
        "error_occurred": True,
        "error_message": "no device",
    }
    document["benchmarks"].append(failed)
    (logs / "google.json").write_text(json.dumps(document))
    assert "BM_Gpu" not in [
        each.name for each in log_dossier(logs / "google.json").number
    ]
    for name in ("google.json", "asv.json", "hyperfine.json"):
        [found] = audit_sources(logs / name, rules=["N16"]).outcomes
        assert "not all of it succeeded" in found.findings[0].text


def test_repetitions_are_values_of_one_number(logs: Path) -> None:
    document = json.loads(LOGS["google.json"])
    first = document["benchmarks"][0] | {"repetitions": 3}
    again = [first | {"real_time": time} for time in (12.0, 13.0, 14.0)]
    document["benchmarks"] = again
    (logs / "google.json").write_text(json.dumps(document))
    [number] = log_dossier(logs / "google.json").number
    assert (number.value, number.n) == (13.0, 3)
    assert number.raw_values == [12.0, 13.0, 14.0]
