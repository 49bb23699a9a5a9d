"""A contest from its opening to its board: an honest entry wins nothing and loses nothing by being judged."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle.records.verification import verify
from deep500.contest.definition import open_folder
from deep500.contest.judging import judge, waiting
from deep500.contest.submissions import submit
from deep500.dossiers.audit_sources import audit_sources
from deep500.errors import Deep500Error, Wrong

from ..evidence.forging import Forger
from .cup import HONEST, ORGANISER, judged, opened

OPEN = """
FIXED = {"epochs": 4, "model_kwargs": {"hidden": (16,)}}
MUTABLE = {"batch_size": 64, "executor": "reference", "optimizer": "Adam"}
"""


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A contest with an honest entry, by the command line."""
    path = tmp_path_factory.mktemp("contest") / "cup"
    words = ["contest", "init", str(path), "--recipe", str(ORGANISER), "--seeds", "3"]
    assert cli.main(words) == 0
    words = ["contest", "submit", str(path), str(HONEST), "--entry", "adam"]
    assert cli.main(words) == 0
    assert cli.main(["contest", "judge", str(path)]) == 0
    return path


def test_participants_can_read_the_rules(cup: Path) -> None:
    rules = (cup / "RULES.md").read_text()
    assert "Ranked by:" in rules and "over 3 seeds" in rules
    assert "| `TestAccuracy" not in rules and "| ≥ 20 |" in rules
    assert "| epochs | `3` |" in rules
    assert "| memory of all processes together | 4096 MiB |" in rules


def test_the_result_is_a_bundle_that_verifies_and_replays(
    cup: Path, capsys: Any
) -> None:
    bundle = cup / "results" / "adam"
    assert verify(bundle).ok
    assert cli.main(["verify", str(bundle), "--replay"]) == 0
    assert "replayed: the weights of 3 seeds" in capsys.readouterr().out
    plan = json.loads((bundle / "plan.json").read_text())
    assert plan["judge"]["attempt"] == 1 and len(plan["judge"]["submission"]) == 64
    assert set(plan["judge"]["layers"]) >= {"network", "files", "processes", "user"}
    assert plan["recipe"]["mutable"]["optimizer"]["definition"] == "Adam"
    assert "submission/submission.py" in plan["recipe"]["code"]["files"]


def test_seeds_are_drawn_after_submission_and_noted(cup: Path) -> None:
    lines, _ = open_folder(cup).log.read()
    assert [line.event for line in lines] == ["opened", "submitted", "drawn", "judged"]
    plan = json.loads((cup / "results" / "adam" / "plan.json").read_text())
    assert [*lines[2].seeds] == plan["seeds"] and len({*lines[2].seeds}) == 3
    assert lines[3].manifest == verify(cup / "results" / "adam").hash


def test_an_audit_has_no_doubt_about_being_judged(cup: Path) -> None:
    found = audit_sources(cup / "results" / "adam", rules=["N16"])
    assert found.outcomes[0].verdict == "PASS"


def test_the_board_of_a_contest_is_that_of_its_results(cup: Path, capsys: Any) -> None:
    assert cli.main(["board", str(cup)]) == 2
    assert f"its results are in {cup / 'results'}" in capsys.readouterr().err


def test_the_board_takes_what_was_judged_and_nothing_else(
    cup: Path, tmp_path: Path
) -> None:
    """An entrant's own bundle, however careful, is not the judge's."""
    copy = tmp_path / "cup"
    shutil.copytree(cup, copy)
    forged = Forger(copy / "results" / "adam")
    for block in forged.epochs():
        block["counters"]["unix time"] += 0.5
    forged.seal(copy / "results" / "forged")
    site = tmp_path / "site"
    assert cli.main(["board", str(copy / "results"), "-o", str(site)]) == 0
    board = json.loads((site / "board.json").read_text())
    [league] = board["leagues"]
    assert [row["entry"] for row in league["rows"]] == ["adam"]
    assert league["subject"] == "cup"
    last = {line["entry"]: line for line in board["log"]}
    assert last["forged"]["reason"] == "the judge of this contest has not written it"


def test_the_open_division(tmp_path: Path) -> None:
    """FIXED may be changed by plain values; the judge evaluates with them, and the differences are recorded."""
    folder = opened(tmp_path / "cup")
    file = tmp_path / "mine.py"
    file.write_text(OPEN)
    outcome = judged(folder, file, "open")
    assert outcome.judgement.accepted, outcome.judgement
    plan = outcome.document("plan.json")
    assert plan["division"] == "open" and plan["epochs"] == 4
    assert {key for key, _, _ in plan["differences"]} == {"epochs", "model_kwargs"}
    assert outcome.bundle is not None and verify(outcome.bundle).ok


STATIC = {
    "no MUTABLE": ("x = 1\n", "has no MUTABLE"),
    "no Python": ("MUTABLE = {\n", "no Python that can be read"),
    "deep": ("MUTABLE = " + "(" * 5000 + ")" * 5000, "no Python that can be read"),
    "unknown key": ('MUTABLE = {"batchsize": 3}\n', "no entry 'batchsize'"),
    "large": ("MUTABLE = {}\n#" + "x" * 70_000, "this contest takes"),
}


@pytest.mark.parametrize("case", STATIC)
def test_what_reading_refuses(case: str, tmp_path: Path) -> None:
    text, said = STATIC[case]
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(Deep500Error, match=said):
        submit(opened(tmp_path / "cup"), file, "mine", "closed")


def test_code_in_fixed_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text('FIXED = {"epochs": print(1)}\nMUTABLE = {}\n')
    with pytest.raises(Deep500Error, match="does not run it"):
        submit(opened(tmp_path / "cup"), file, "mine", "open")


@pytest.mark.parametrize("name", ["../out", "a/b", "", "x" * 41, "-o", "a\nb"])
def test_names_lead_nowhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match="give up to 40 letters"):
        submit(opened(tmp_path / "cup"), HONEST, name, "closed")


def test_files_elsewhere_are_not_packed(tmp_path: Path) -> None:
    """A module beside the submission is packed; one that is a link to another place is not."""
    (tmp_path / "secret.py").write_text("KEY = 1\n")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "helper.py").write_text("RATE = 0.1\n")
    (mine / "stolen.py").symlink_to(tmp_path / "secret.py")
    (mine / "entry.py").write_text("import helper\nimport stolen\nMUTABLE = {}\n")
    folder = opened(tmp_path / "cup")
    submit(folder, mine / "entry.py", "entry", "closed")
    [sealed] = (folder.path / "submissions").glob("*.zip")
    with zipfile.ZipFile(sealed) as packed:
        assert sorted(packed.namelist()) == ["helper.py", "submission.py"]


@pytest.mark.parametrize("file", ["submission", "recipe.py", "contest.json", "log"])
def test_what_is_changed_after_it_was_sealed_is_refused(
    file: str, tmp_path: Path
) -> None:
    folder = opened(tmp_path / "cup")
    submit(folder, HONEST, "honest", "closed")
    [line] = waiting(folder)
    if file == "submission":
        [path] = (folder.path / "submissions").glob("*.zip")
        path.write_bytes(path.read_bytes() + b" ")
        assert judge(folder, line).layer == "seal"
        return
    if file == "log":
        path = folder.path / "contest.jsonl"
        path.write_bytes(path.read_bytes().replace(b'"closed"', b'"opened"', 1))
        with pytest.raises(Wrong, match="the log was changed"):
            open_folder(folder.path)
        return
    path = folder.path / file
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(Deep500Error, match="changed after|not the one"):
        judge(open_folder(folder.path), line)


def test_the_program_of_another_is_not_handed_in(cup: Path, capsys: Any) -> None:
    assert (
        cli.main(["contest", "submit", str(cup), str(HONEST), "--entry", "adam"]) == 0
    )
    assert cli.main(["contest", "submit", str(cup), str(HONEST), "--entry", "me"]) == 2
    assert "handed in already, as adam" in capsys.readouterr().err


def test_a_submission_is_judged_once(cup: Path, capsys: Any) -> None:
    """Who wants other seeds has to submit again, and the attempt is counted."""
    assert cli.main(["contest", "judge", str(cup)]) == 0
    assert "nothing waits to be judged" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words, said",
    [
        (["init", "CUP", "--recipe", "nothing"], "there is no recipe nothing"),
        (["init", "EXISTING", "--recipe", "digits_mlp"], "exists already"),
        (["init", "CUP", "--recipe", "digits_mlp", "--seeds", "0"], "seeds"),
        (["init", "CUP", "--recipe", "digits_mlp", "--tier", "huge"], "tier"),
        (["init", "CUP", "--recipe", "digits_mlp", "--scored", "Beauty"], "score"),
        (["submit", "CUP", "x.py"], "is no contest"),
        (["judge", "EXISTING"], "is no contest"),
    ],
)
def test_bad_input_is_one_line(
    words: list[str], said: str, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "there").mkdir()
    places = {"CUP": str(tmp_path / "cup"), "EXISTING": str(tmp_path / "there")}
    assert cli.main(["contest", *(places.get(word, word) for word in words)]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1
