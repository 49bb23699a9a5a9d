"""`d5 audit` and `d5 fool`: the answer first, exit codes, one line for bad input, the same bytes every time."""

import json
from pathlib import Path

import pytest

from deep500 import cli

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
HOSTILE = """
[[number]]
name = "<script>alert(1)</script>\\u001b[31m"
kind = "cost"
value = 1e299
unit = "</td>"
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", str(GOLDEN / "recipe.zip")]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("**None of ")


def test_json_has_all_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["audit", str(GOLDEN / "bench.zip"), "--json", "--rules", "R5"]
    assert cli.main(line) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["exit_code"] == 0
    [outcome] = document["outcomes"]
    assert outcome["verdict"] == "PASS"
    assert outcome["findings"][0]["evidence"][0]["field"] == "entries/0/n"


def test_two_audits_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    outputs = []
    for page in pages:
        source = str(GOLDEN / "operator.zip")
        cli.main(["audit", source, "--json", "--out", str(page)])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_a_hostile_name_is_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    claims, page = tmp_path / "c.toml", tmp_path / "page.html"
    claims.write_text(HOSTILE)
    assert cli.main(["audit", str(claims), "--out", str(page)]) == 1
    assert "\x1b" not in capsys.readouterr().out
    assert "<script>alert" not in page.read_text()


def test_a_page_does_not_replace_what_is_audited(tmp_path: Path) -> None:
    claims = tmp_path / "claims.toml"
    claims.write_text(HOSTILE)
    assert cli.main(["audit", str(claims), "--out", str(claims)]) == 2
    assert claims.read_text() == HOSTILE


def test_a_template_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    assert cli.main(["audit", "--new", str(path)]) == 0
    assert cli.main(["audit", str(path)]) == 3
    assert cli.main(["audit", "--new", str(path)]) == 2


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "--rules", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == "R1"


BAD = {
    "nothing to audit": ["audit"],
    "no file or folder": ["audit", "missing"],
    "no rule is named 'R99'": ["audit", str(GOLDEN / "bench.zip"), "--rules", "R99"],
    "give --way N": ["fool", str(GOLDEN / "bench.zip")],
}


@pytest.mark.parametrize(("message", "line"), BAD.items(), ids=list(BAD))
def test_bad_input_is_one_line(
    message: str, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(line) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_fooled_bundle_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fooled-2"
    line = ["fool", str(GOLDEN / "recipe.zip"), "--way", "2", "--out", str(out)]
    assert cli.main(line) == 0
    assert cli.main(["verify", str(out)]) == 0
    assert cli.main(["audit", str(out), "--rules", "F2"]) == 1


def test_an_empty_folder_is_no_source(tmp_path: Path) -> None:
    assert cli.main(["audit", str(tmp_path)]) == 2


def test_damage_is_an_alarm(tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(GOLDEN / "bench_one.zip") as source:
        source.extractall(tmp_path / "b")
    derived = tmp_path / "b" / "derived.json"
    document = json.loads(derived.read_text())
    document["entries"][0]["median"] /= 2
    derived.write_text(json.dumps(document))
    assert cli.main(["audit", str(tmp_path / "b"), "--rules", "N16"]) == 1
