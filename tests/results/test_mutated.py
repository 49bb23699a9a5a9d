"""Spoilt bundles of every kind through every verb: no traceback, no hang, and no forged number without a mark."""

import json
import random
import re
import shutil
import signal
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from deep500 import bundle, cli
from deep500.bundle.records import loading
from deep500.bundle.records.recording import recorded_diagnosis

from .mutations import FORGED, MUTATIONS, Mutation, forge
from .test_kinds import BEFORE, RECIPE, conformance, network_check

QUICK, ALL = 23, 506  # each a multiple of the ways to spoil one
LONGEST_S = 20  # of computing; a busy machine is no hang
LONGEST_WAIT_S = 600
VERBS = (
    ("verify",),
    ("show",),
    ("show", "--json"),
    ("report", "--format", "html"),
    ("report", "--format", "markdown", "--json"),
    ("compare",),
    ("audit",),
    ("audit", "--json"),
    ("list",),
)


class Answer(NamedTuple):
    verb: tuple[str, ...]
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def originals(tmp_path_factory) -> Iterator[dict[str, Path]]:
    """A small real bundle of every kind, known to the ledger, and those of the version before."""
    folder = tmp_path_factory.mktemp("originals")
    small = ["--framework", "reference"]
    verbs = {
        "bench": [
            "bench",
            "sum(range(99))",
            "sum(range(120))",
            "--budget",
            "1",
            "--processes",
            "3",
        ],
        "recipe": ["run", str(RECIPE), "--tier", "tiny", *small],
        "check": [
            "check",
            "operator",
            "Relu",
            "--dtype",
            "float32",
            "--shape",
            "3x4",
            *small,
        ],
        "elementary": ["bench", "elementary", "exp", "--n", "9", *small],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        for name, words in verbs.items():
            cli.main(
                [
                    *words,
                    *(() if name == "elementary" else ("--out", str(folder / name))),
                ]
            )
        cli.main([*network_check(folder), "--out", str(folder / "network_check")])
        recorded_diagnosis(0.3, folder / "doctor")
        conformance(folder / "conformance")
        for run in (folder / "home" / "runs").iterdir():
            shutil.move(run, folder / bundle.read(run).kind)
        for path in BEFORE.glob("*.zip"):
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder / path.stem)
        found = [path.parent for path in folder.rglob("manifest.json")]
        yield {path.name: path for path in sorted(found)}


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise AssertionError("no answer in time")

    clocks = {
        signal.ITIMER_PROF: (signal.SIGPROF, LONGEST_S),
        signal.ITIMER_REAL: (signal.SIGALRM, LONGEST_WAIT_S),
    }
    before = {number: signal.signal(number, stop) for number, _ in clocks.values()}
    for clock, (_, seconds) in clocks.items():
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for clock in clocks:
            signal.setitimer(clock, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def mutated(originals: dict[str, Path], number: int, folder: Path) -> Mutation:
    """The mutation of this number: every way to spoil a bundle in turn, on every bundle in turn."""
    draw = random.Random(number)
    names = list(originals)
    made = Mutation(originals[names[number % len(names)]], folder / f"m{number}", draw)
    MUTATIONS[number % len(MUTATIONS)](made)
    return made


def answers(made: Mutation, original: Path, capsys) -> list[Answer]:
    found = []
    for verb in VERBS:
        words = [verb[0], str(made.folder), *verb[1:]]
        if verb[0] == "compare":
            words = ["compare", str(original), str(made.folder), "--json"]
        elif verb[0] == "list":
            words = ["list", "--json"]
        with limited():
            code = cli.main(words)
        said = capsys.readouterr()
        found.append(Answer(verb, code, said.out, said.err))
    return found


def faults(answer: Answer) -> list[str]:
    """What is wrong with one answer, whatever the bundle is like."""
    said = answer.out + answer.err
    found = []
    if answer.code not in (0, 1, 2):
        found.append(f"exit code {answer.code}")
    if "Traceback" in said or "Warning" in answer.err:
        found.append("a traceback or a warning")
    if re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b]", said):
        found.append("a character that drives a terminal")
    if answer.code == 2 and answer.err.count("\n") != 1:
        found.append("a complaint that is not one line")
    if "--json" in answer.verb and answer.code < 2:
        json.loads(answer.out)
    return found


def is_as_it_was(made: Mutation, original: Path) -> bool:
    """Whether a mutation changed nothing after all, such as the order of a single block."""
    if not made.folder.is_dir():
        return False
    contents = [
        {path.name: path.is_file() and path.read_bytes() for path in folder.iterdir()}
        for folder in (made.folder, original)
    ]
    return contents[0] == contents[1]


def check_marks(made: Mutation, original: Path, found: list[Answer]) -> list[str]:
    """Where something does not verify, every verb that shows it says so."""
    verify, show, as_json, page, markdown, compare, *audits, _ = found
    wrong = []
    agrees = "the ledger knows this run and agrees" in verify.out
    if agrees and not is_as_it_was(made, original):
        wrong.append("the ledger agrees with what was changed")
    if verify.code == 0:
        return wrong
    for answer in (show, as_json, page, markdown, compare, *audits):
        if answer.code == 0:
            wrong.append(f"{answer.verb} exits with 0")
    if show.code == 1 and not show.out.startswith("**NOT VERIFIED"):
        wrong.append("show has no mark on top")
    if page.code == 1 and "NOT VERIFIED" not in page.out:
        wrong.append("report has no mark")
    for answer in (as_json, markdown, compare):
        if answer.code == 1 and json.loads(answer.out)["verified"]:
            wrong.append(f"{answer.verb} says that it verified")
    return wrong


def problems_of(originals, numbers, tmp_path, capsys) -> list[str]:
    complaints = []
    for number in numbers:
        made = mutated(originals, number, tmp_path)
        original = list(originals.values())[number % len(originals)]
        try:
            found = answers(made, original, capsys)
        except BaseException as error:
            complaints.append(f"{number}: {type(error).__name__}: {str(error)[:200]}")
            continue
        wrong = [f"{a.verb}: {fault}" for a in found for fault in faults(a)]
        wrong += check_marks(made, original, found)
        complaints += [f"{number} {made.folder.name}: {what}" for what in wrong]
        shutil.rmtree(made.folder, ignore_errors=True)
    return complaints


@pytest.fixture(autouse=True)
def home_of_the_originals(originals, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(originals["bench"].parent / "home"))


def test_some_spoilt_bundles(originals, tmp_path, capsys):
    assert problems_of(originals, range(QUICK), tmp_path, capsys) == []


@pytest.mark.slow
def test_all_spoilt_bundles(originals, tmp_path, capsys):
    assert problems_of(originals, range(QUICK, ALL), tmp_path, capsys) == []


def without_marks(text: str) -> list[str]:
    """What is shown, apart from the marks, and from the place and the hash of the bundle."""
    lines = [
        line
        for line in text.splitlines()
        if not re.match(r"\*\*NOT VERIFIED|- PROBLEM", line)
    ]
    body = [
        line for line in lines if "hash of the bundle" not in line and "/" not in line
    ]
    return [line for line in body if line.strip()]


KINDS = (
    "bench",
    "check",
    "conformance",
    "doctor",
    "elementary",
    "network_check",
    "recipe",
)


@pytest.mark.parametrize("kind", KINDS)
def test_forged_numbers_are_never_shown(originals, kind, tmp_path, capsys):
    cli.main(["show", str(originals[kind])])
    truth = without_marks(capsys.readouterr().out)
    for number in range(3):
        made = Mutation(originals[kind], tmp_path / str(number), random.Random(number))
        forge(made)
        assert cli.main(["show", str(made.folder)]) == 1
        text = capsys.readouterr().out
        assert text.startswith("**NOT VERIFIED")
        assert without_marks(text) == truth
        assert cli.main(["show", str(made.folder), "--json"]) == 1
        data = json.loads(capsys.readouterr().out)
        problems = data.pop("problems")
        assert problems and data["verified"] is False
        assert str(FORGED) not in json.dumps(data)


def test_without_the_comparison_a_forged_number_would_pass(
    originals, tmp_path, capsys, monkeypatch
):
    """The planted fault: derived.json is believed, and the ledger is another's."""
    monkeypatch.setattr(loading, "_false_claims", lambda *_: [])
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))
    made = Mutation(originals["conformance"], tmp_path / "forged", random.Random(0))
    forge(made)
    assert cli.main(["show", str(made.folder)]) == 0


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (3, "", ""),
        (1, "", "Traceback (most recent call last):\n"),
        (0, "\x1b[31m", ""),
        (0, "\u202e", ""),
        (2, "", "d5: one\nd5: two\n"),
    ],
)
def test_the_search_sees_a_bad_answer(code, out, err):
    assert faults(Answer(("show",), code, out, err))


def test_the_search_sees_a_hang(monkeypatch):
    monkeypatch.setitem(globals(), "LONGEST_S", 0.2)
    with pytest.raises(AssertionError, match="no answer in time"), limited():
        while True:
            pass
    monkeypatch.setitem(globals(), "LONGEST_WAIT_S", 0.2)
    with pytest.raises(AssertionError, match="no answer in time"), limited():
        time.sleep(5)
