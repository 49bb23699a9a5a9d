"""Claims files: what is wrong is said with its line and key, and nothing outside of their folder is read."""

import os
from pathlib import Path

import pytest

from deep500.contracts.dossier import ReportedNumber
from deep500.dossiers.auditing import all_rules, audit
from deep500.dossiers.bundles import bundle_dossier
from deep500.dossiers.claims_file import claims_dossier, read_claims
from deep500.dossiers.claims_template import claims_of, claims_template
from deep500.errors import Deep500Error

WRONG = {
    "[[number": "claims.toml is no TOML: ",
    "[[nubmer]]\nname = 'x'": r"line 1: there is no table 'nubmer'. Did you mean 'number'",
    "number = 3": "line 1: number is no table|number is no table",
    "[[number]]\nname = 'x'\nvlaue = 3": r"line 3: \[\[number\]\] 1: there is no key 'vlaue'. Did you mean 'value'",
    "[[number]]\nname = 'x'\n\n[[number]]\n\nn = 'many'": r"line 6: \[\[number\]\] 2: n is many, but a whole number",
    "[[number]]\nn = 1.5": r"line 2: .* n is 1.5, but a whole number",
    "[[number]]\nvalue = inf": "line 2: .* value is inf, but a number",
    "[[number]]\nvalue = nan": "line 2: .* value is nan, but a number",
    f"[[number]]\nvalue = 1{'0' * 400}": "value is 1000",
    f"[[number]]\nvalue = 1{'0' * 5000}": "is no TOML",
    "[[number]]\nkind = 'costs'": "line 2: .* kind is costs, but 'cost' or",
    "[[number]]\nincludes = 'input'": "line 2: .* includes is input, but a list",
    "[[number]]\norigin = {file = 'x'}": "there is no key 'origin'",
    "[[number]]\ncsv = '../secret.csv'": "line 2: .* is outside of the folder",
    "[[number]]\ncsv = '/etc/passwd'": "line 2: .* is outside of the folder",
    "[[number]]\ncsv = 7": "csv is the name of a file",
    "[[number]]\ncsv = 'none.csv'": "none.csv cannot be read",
    "a = " + "[" * 5000: "is no TOML",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(Deep500Error, match=message) as caught:
        claims_dossier(text, "claims.toml", tmp_path)
    assert "\n" not in str(caught.value)


def test_rows_come_from_a_csv_file(tmp_path: Path) -> None:
    rows = "name,value,n,low,high,quantiles\na,1.5,30,1.4,1.6,0.5; 0.99\n\nb,2,,,,\n"
    (tmp_path / "table.csv").write_text(rows)
    claims = "[[number]]\ncsv = 'table.csv'\nkind = 'cost'\nunit = 's'\n"
    (tmp_path / "claims.toml").write_text(claims)
    first, second = read_claims(tmp_path / "claims.toml").number
    assert first == ReportedNumber(
        name="a",
        kind="cost",
        value=1.5,
        unit="s",
        n=30,
        low=1.4,
        high=1.6,
        quantiles=[0.5, 0.99],
    )
    assert second == ReportedNumber(name="b", kind="cost", value=2, unit="s")
    [evidence] = second.evidence("value")
    assert (evidence.file, evidence.field) == ("table.csv", "line 4/value")


WRONG_ROWS = {
    "": "is empty",
    "name,valeu\n": "line 1: there is no field 'valeu'. Did you mean 'value'",
    "name,name\n": "a field is there twice",
    "name,value\na\n": "line 2: 1 cells, and the header has 2",
    "name,value\na,x\n": "value is x, but a number",
    'name,value\n"a,1\n': "line",
}


@pytest.mark.parametrize(("rows", "message"), WRONG_ROWS.items())
def test_a_wrong_row_is_named(rows: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(rows)
    with pytest.raises(Deep500Error, match=message):
        claims_dossier("[[number]]\ncsv = 't.csv'\n", "claims.toml", tmp_path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("name\nsecret\n")
    folder = tmp_path / "claims"
    folder.mkdir()
    (folder / "t.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(Deep500Error, match="outside of the folder"):
        claims_dossier("[[number]]\ncsv = 't.csv'\n", "claims.toml", folder)


@pytest.mark.parametrize("name", ["bench", "recipe", "operator"])
def test_what_a_bundle_says_can_be_written_down(name: str) -> None:
    bundle = Path(__file__).parents[1] / "data" / "golden" / f"{name}.zip"
    dossier = bundle_dossier(bundle)
    text = claims_of(dossier)
    again = claims_dossier(text, "claims.toml")
    assert again.number == list(dossier.number)
    assert again.speedup == list(dossier.speedup)
    assert again.training == list(dossier.training)
    assert "# latency = false  # is it a latency" in text
    verdicts = [
        [
            (outcome.id, outcome.verdict)
            for outcome in audit(each, all_rules(), []).outcomes
        ]
        for each in (dossier, again)
    ]
    assert verdicts[0] == verdicts[1]


def test_a_pipe_or_a_giant_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(Deep500Error, match="not a regular file"):
        read_claims(tmp_path / "pipe.toml")
    giant = tmp_path / "giant.toml"
    with giant.open("wb") as file:
        file.truncate(2 << 30)
    with pytest.raises(Deep500Error, match=r"2147483648 bytes; at most"):
        read_claims(giant)


def test_the_template_is_empty_and_asks_for_everything() -> None:
    template = claims_template()
    nothing = claims_dossier(template, "new.toml")
    assert audit(nothing, all_rules(), ["new.toml"]).exit_code == 3
    answers = []
    for line in template.splitlines():
        text = line.removeprefix("# ")
        if text.startswith("[[") or " = " in text.partition("  #")[0]:
            answers.append(text)
    full = claims_dossier("\n".join(answers[1:]), "full.toml")
    assert full.number and full.point and full.training and full.plot
