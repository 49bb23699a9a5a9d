"""The board of a folder: who is ahead, what is refused, what the log says, and that a second build changes nothing."""

import csv
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.board.building import BoardSettings, build
from deep500.board.change_log import LOG
from deep500.bundle.records.verification import verify
from deep500.reports.markup import page

from .entries import BEFORE, date, forger, rename_machine


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fast one, two that cannot be told apart, a slow one, and one that missed the target."""
    folder = tmp_path_factory.mktemp("entries")
    forger(1.0).seal(folder / "fast")
    forger(2.02).seal(folder / "middle-a")
    forger(2.0, 81.0).seal(folder / "middle-b")
    forger(4.0, 95.0).seal(folder / "slow")
    forger(1.5, 10.0).seal(folder / "missed")
    return folder


@pytest.fixture
def folder(entries: Path, tmp_path: Path) -> Path:
    """A folder of one's own with links to the files of these bundles."""
    own = tmp_path / "entries"
    for path in entries.rglob("*"):
        if path.is_file() and path.name != LOG:
            copy = own / path.relative_to(entries)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.hardlink_to(path)
    return own


def board(folder: Path, *words: str) -> dict[str, Any]:
    """The board as its file says it, after the verb has built it."""
    site = folder.with_name("site")
    assert cli.main(["board", str(folder), "-o", str(site), *words]) == 0
    return json.loads((site / "board.json").read_text())


def contents(site: Path) -> dict[str, bytes]:
    files = [path for path in site.rglob("*") if path.is_file()]
    return {str(path.relative_to(site)): path.read_bytes() for path in files}


def places(league: dict[str, Any]) -> dict[str, str]:
    return {row["entry"]: row["place"] for row in league["rows"]}


def test_the_places(folder: Path) -> None:
    [league] = board(folder)["leagues"]
    assert places(league) == {
        "fast": "1",
        "middle-a": "2–3",
        "middle-b": "2–3",
        "slow": "4",
        "missed": "",
    }
    assert league["answer"] == (
        "fast is ahead of all 3 others in throughput; 1 missed a target"
    )
    unbeaten = [row["entry"] for row in league["rows"] if row["unbeaten"]]
    assert unbeaten == ["fast", "middle-b", "slow"]


def test_a_second_build_changes_no_byte(folder: Path) -> None:
    board(folder)
    first = contents(folder.with_name("site"))
    board(folder)
    assert contents(folder.with_name("site")) == first
    log = (folder / LOG).read_bytes()
    assert log.count(b"\n") == 5


def test_a_board_of_the_moved_folder_is_the_same(folder: Path, tmp_path: Path) -> None:
    """Nothing on the site tells where its bundles were."""
    board(folder)
    before = contents(folder.with_name("site"))
    moved = tmp_path / "elsewhere" / folder.name
    shutil.copytree(folder, moved)
    board(moved)
    assert contents(moved.with_name("site")) == before
    assert not [name for name, data in before.items() if str(tmp_path).encode() in data]


def test_the_page_says_it_all(folder: Path) -> None:
    board(folder, "--title", "The cup")
    page = (folder.with_name("site") / "index.html").read_text()
    headline = page.index("fast is ahead of all 3 others")
    assert headline < page.index("<table")
    for text in ("The cup", "2–3 of 4", "not ranked", "n = 5", "AMD EPYC, 2 CPUs"):
        assert text in page, text
    for name in ("board.json", "board.csv", "board.jsonl", "reports/", "bundles/"):
        assert f'href="{name}' in page


def test_bundles_of_the_site_verify(folder: Path) -> None:
    [league] = board(folder)["leagues"]
    site = folder.with_name("site")
    for row in league["rows"]:
        assert verify(site / row["bundle"]).ok
        assert "<h1>" in (site / row["report"]).read_text()


def test_rows_as_csv(folder: Path) -> None:
    forger(3.0).seal(folder / "=HYPERLINK(1)")
    board(folder)
    text = (folder.with_name("site") / "board.csv").read_text()
    rows = [*csv.DictReader(text.splitlines())]
    assert len(rows) == 12
    assert "'=HYPERLINK(1)" in {row["entry"] for row in rows}
    fast = [row for row in rows if (row["entry"], row["unit"]) == ("fast", "samples/s")]
    assert fast[0]["place"] == "1" and float(fast[0]["value"]) > 0
    assert fast[0]["n"] == "5"


def test_leagues_are_not_mixed(folder: Path) -> None:
    """Another machine, another data set, other targets: another table each."""
    machine = forger(0.5)
    rename_machine(machine, "Another CPU")
    machine.seal(folder / "machine")
    data = forger(0.4)
    data.plan["data"] = {"train": "0" * 64}
    data.seal(folder / "data")
    target = forger(0.3)
    target.plan["recipe"]["metrics"] = [
        [{"definition": "TestAccuracy", "settings": {}}, 20.0],
        [{"definition": "Throughput", "settings": {}}, None],
    ]
    target.rehash()
    target.seal(folder / "target")
    leagues = board(folder)["leagues"]
    sizes = sorted(len(league["rows"]) for league in leagues)
    assert sizes == [1, 1, 1, 5]
    # who is alone is ahead of nobody
    page = (folder.with_name("site") / "index.html").read_text()
    assert "1 of 4 leagues has a winner" in page


def test_the_open_division_is_a_league_of_its_own(folder: Path) -> None:
    for number, model in enumerate(("mlp_wide", "mlp_deep"), 1):
        entry = forger(0.1 * number)
        was = entry.plan["recipe"]["fixed"]["model"]
        entry.plan["recipe"]["fixed"]["model"] = model
        entry.plan["division"] = "open"
        entry.plan["differences"] = [["model", was, model]]
        entry.rehash()
        entry.seal(folder / f"open-{number}")
    closed, opened = board(folder)["leagues"]
    assert (closed["division"], len(closed["rows"])) == ("closed", 5)
    assert (opened["division"], len(opened["rows"])) == ("open", 2)


def events(found: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The last event of every entry with its reason."""
    return {line["entry"]: (line["event"], line["reason"]) for line in found["log"]}


def test_what_does_not_verify_is_refused(folder: Path, capsys: Any) -> None:
    forged = forger(0.1)
    forged.epochs()[0]["evaluation"]["seconds"] = 1e-9
    forged.seal(folder / "forged")
    broken = forger(0.1).seal(folder / "broken")
    (broken / "plan.json").write_text("{}")
    unfinished = forger(0.1).seal(folder / "unfinished")
    (unfinished / "manifest.json").unlink()
    with zipfile.ZipFile(folder / "copy.zip", "w") as copy:
        for path in (folder / "fast").iterdir():
            copy.write(path, path.name)
    (folder / "link").symlink_to(folder / "fast")
    found = board(folder)
    said = events(found)
    for name in ("forged", "broken", "unfinished"):
        assert said[name][0] == "refused", name
    assert "same result as copy.zip" in said["fast"][1]
    assert "link" not in said
    [league] = found["leagues"]
    assert len(league["rows"]) == 5
    assert "refused: forged" in capsys.readouterr().out


def test_a_removed_entry_stays_in_the_log(folder: Path) -> None:
    board(folder)
    found = board(folder, "--remove", "fast", "--reason", "trained on the test data")
    [league] = found["leagues"]
    assert "fast" not in places(league)
    assert events(found)["fast"] == ("removed", "trained on the test data")
    again = board(folder)
    assert again["log"] == found["log"]
    page = (folder.with_name("site") / "index.html").read_text()
    assert "trained on the test data" in page
    names = {path.name for path in folder.with_name("site").glob("bundles/*")}
    assert len(names) == 4


def test_a_replaced_and_a_lost_bundle_are_noted(folder: Path) -> None:
    before = board(folder)
    for path in (folder / "slow").iterdir():
        path.unlink()
    (folder / "slow").rmdir()
    (folder / "missed").rename(folder.with_name("away"))
    forger(8.0, 95.0).seal(folder / "slow")
    after = board(folder)
    assert after["log"][: len(before["log"])] == before["log"]
    assert events(after)["slow"][0] == "rescored"
    assert "was replaced" in events(after)["slow"][1]
    assert events(after)["missed"][0] == "removed"
    folder.with_name("away").rename(folder / "missed")
    assert events(board(folder))["missed"][0] == "accepted"


def test_another_metric_rescores(folder: Path) -> None:
    board(folder)
    found = board(folder, "--metric", "TestAccuracy")
    [league] = found["leagues"]
    assert league["ranked_by"] == "test accuracy"
    assert league["rows"][0]["entry"] == "slow"
    event, reason = events(found)["slow"]
    assert event == "rescored" and "by throughput" in reason


@pytest.mark.parametrize("change", ["edit", "drop", "junk"])
def test_a_log_that_was_changed_is_refused(
    folder: Path, change: str, capsys: Any
) -> None:
    board(folder)
    log = folder / LOG
    lines = log.read_bytes().splitlines(keepends=True)
    if change == "edit":
        lines[1] = lines[1].replace(b"accepted", b"rescored")
    elif change == "drop":
        del lines[1]
    else:
        lines.append(b"{}\n")
    log.write_bytes(b"".join(lines))
    site = folder.with_name("site")
    assert cli.main(["board", str(folder), "-o", str(site)]) == 1
    assert "the log was changed" in capsys.readouterr().err


HOSTILE = {
    "<script>alert(1)<": "&lt;script&gt;alert(1)&lt;",
    "\" onmouseover='x'": "&quot; onmouseover=&#x27;x&#x27;",
    "a\nb": "a ⏎ b",
    "\u202egnp": "\\u202egnp",
}


def test_hostile_names_are_escaped(folder: Path) -> None:
    for number, name in enumerate(HOSTILE):
        entry = forger(5.0 + number)
        entry.plan["recipe"]["mutable"]["batch_size"] = f"<img src=x{number}>"
        entry.rehash()
        entry.seal(folder / name)
    board(folder)
    page = (folder.with_name("site") / "index.html").read_text()
    for shown in HOSTILE.values():
        assert shown in page
    assert "<script>alert" not in page and "<img" not in page
    assert "onmouseover='" not in page


def test_an_audit_beside_a_bundle_is_linked_if_it_is_a_page_of_ours(
    folder: Path,
) -> None:
    ours = page("Deep500 audit", "fast", "<p>PASS</p>")
    (folder / "fast.audit.html").write_text(ours)
    (folder / "slow.audit.html").write_text("<script>alert(1)</script>")
    active = ours.replace("<p>PASS</p>", "<SCRIPT>alert(1)</SCRIPT>")
    (folder / "missed.audit.html").write_text(active)
    [league] = board(folder)["leagues"]
    audits = {row["entry"]: row.get("audit") for row in league["rows"]}
    assert [entry for entry, audit in audits.items() if audit] == ["fast"]
    site = folder.with_name("site")
    assert (site / audits["fast"]).read_text() == ours
    assert len([*(site / "audits").iterdir()]) == 1


def test_every_bundle_is_audited_if_asked(folder: Path) -> None:
    """A page that a participant left there is replaced, and one of no bundle is not written through a link."""
    forged = page("Deep500 audit", "fast", "<p>PASS</p>")
    (folder / "fast.audit.html").write_text(forged)
    outside = folder.with_name("outside")
    outside.write_text("mine")
    (folder / "slow.audit.html").symlink_to(outside)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "samples.jsonl").write_text("{")
    (folder / "damaged.audit.html").write_text(forged)
    [league] = board(folder, "--audit")["leagues"]
    audits = {row["entry"]: row.get("audit") for row in league["rows"]}
    assert all(audits.values())
    text = (folder.with_name("site") / audits["fast"]).read_text()
    assert text != forged and "Audit of fast" in text
    assert outside.read_text() == "mine"
    assert not (folder / "damaged.audit.html").exists()
    before = contents(folder.with_name("site"))
    board(folder, "--audit")
    assert contents(folder.with_name("site")) == before


def test_names_that_look_alike_are_two_entries(folder: Path) -> None:
    forger(6.0).seal(folder / "x\ny")
    forger(7.0).seal(folder / "x ⏎ y")
    [league] = board(folder)["leagues"]
    assert {"x ⏎ y", "x ⏎ y (2)"} <= places(league).keys()


def test_a_folder_of_something_else_is_not_written_into(
    folder: Path, capsys: Any
) -> None:
    site = folder.with_name("site")
    site.mkdir()
    (site / "thesis.tex").write_text("mine")
    assert cli.main(["board", str(folder), "-o", str(site)]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in site.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["missing"], "there is no folder missing"),
        (["DIR", "--reason", "x"], "--reason is for --remove"),
        (["DIR", "--remove", "nobody", "--reason", "x"], "no entry 'nobody'"),
        (["DIR", "--metric", "Beauty"], "no score"),
        (["DIR", "--level", "2"], "level"),
    ],
)
def test_bad_input_is_one_line(
    folder: Path, words: list[str], said: str, capsys: Any
) -> None:
    words = [str(folder) if word == "DIR" else word for word in words]
    site = folder.with_name("site")
    assert cli.main(["board", *words, "-o", str(site)]) == 2
    error = capsys.readouterr().err
    assert said in error and len(error.splitlines()) == 1


def test_an_empty_folder_is_an_empty_board(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert board(tmp_path / "none")["leagues"] == []


def test_series_show_a_change_and_split_where_the_method_changed(
    tmp_path: Path,
) -> None:
    """Twelve nightly runs of one recipe, of which the last six are slower; then four with another thread count."""
    for day in range(16):
        entry = forger(1.0 if day < 6 else 1.5, spread=0.005 + day / 1e5)
        entry.plan["recipe"]["mutable"]["optimizer_args"] = [0.1]
        if day >= 12:
            entry.plan["threads"] = 2
        entry.rehash()
        date(entry, day)
        entry.seal(tmp_path / "nights" / f"night-{day:02d}")
    built = build(tmp_path / "nights", BoardSettings())
    first, second = built.board.series
    [shift] = first.shifts
    assert (shift.before, shift.after) == ("night-05", "night-06")
    assert shift.verdict == "worse"
    assert shift.low < 1 / 1.5 < shift.high < 0.75
    assert len(second.points) == 4 and second.shifts == []
    assert second.differs == "how it was run"
    assert "not decided: 4 results" in second.answer


def test_bundles_of_every_version_and_kind_that_is_ranked(tmp_path: Path) -> None:
    """Runs of recipes and measurements side by side: each in a league of its own, none mixed."""
    folder = tmp_path / "before"
    folder.mkdir()
    for path in BEFORE.parent.glob("*.zip"):
        (folder / path.name).write_bytes(path.read_bytes())
    found = board(folder)
    assert {line["event"] for line in found["log"]} == {"accepted"}
    leagues = {len(league["rows"]): league for league in found["leagues"]}
    assert len(found["leagues"]) == 4 and set(leagues) == {1, 2}
    measured = [one for one in found["leagues"] if one["ranked_by"] == "time per call"]
    assert len(measured) == 2
    first, second = next(one for one in measured if "sum" in one["subject"])["rows"]
    assert (first["system"], first["place"]) == ("sum(range(100))", "1")
    assert (second["system"], second["place"]) == ("sum(range(200))", "2")
