"""Every kind of result through every verb: made now, made by the version before, unfinished, and made to do harm."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from deep500 import bundle, cli, registry
from deep500 import networks as d5_networks
from deep500.bundle import Bundle
from deep500.bundle.records.loading import as_json, load, record_of, report_of
from deep500.bundle.records.recording import recorded_diagnosis, recording
from deep500.bundle.records.verification import verify
from deep500.contracts.result import result_kind
from deep500.errors import Deep500Error
from deep500.instrumentation.run import instrument
from deep500.reports.data import to_json
from deep500.reports.html import html
from deep500.reports.markdown import markdown
from deep500.reports.terminal import terminal

from .test_html import check_page

BEFORE = Path(__file__).parents[1] / "data" / "before"
RECIPE = Path(__file__).parents[2] / "recipes" / "digits_mlp.py"
KINDS = (
    "bench",
    "recipe",
    "instrumented",
    "check",
    "network_check",
    "sampler_check",
    "elementary",
    "conformance",
    "doctor",
    "reproduction",
    "collective_bench",
)
OLD = ("bench-0.1.0", "operator-0.1.0", "recipe-0.1.0")
JUNK: tuple = (None, True, -1, 1e308, "<b>\x1b[31m\n", [], [None], {}, {"x": {"y": []}})


def conformance(folder: Path) -> None:
    names = ["test_relu", "test_abs"]
    cases = [{"name": name, "kind": "node", "operator": name[5:]} for name in names]
    versions = {"onnx": "1", "numpy": "2"}
    plan = {"cases": cases, "columns": ["reference", "gradient"], "versions": versions}
    with recording("conformance", plan, folder) as record:
        texts = ["", "the outputs differ"]
        record.append(
            {"column": "reference", "words": ["pass", "wrong"], "texts": texts}
        )
        record.append(
            {"column": "gradient", "words": ["pass", "unstable"], "texts": ["", ""]}
        )
        record.finish()


def instrumented(folder: Path) -> None:
    with instrument("script", seed=0, out=folder, better={"accuracy": "higher"}) as run:
        for epoch in range(2):
            for number in run.batches(range(9)):
                with run.region("forward"):
                    loss = 1 / (1 + number + epoch)
                run.step(loss=loss, examples=8)
            run.evaluation(accuracy=90 + epoch)


def network_check(folder: Path) -> list[str]:
    """The command that checks a small network."""
    path = folder / "small.onnx"
    d5_networks.Mlp(hidden=(4,)).build((3,), 2).to_onnx(path)
    return ["check", "network", str(path), "--framework", "reference"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One bundle of every kind, as the verbs leave them."""
    folder = tmp_path_factory.mktemp("kinds")
    out = {kind: folder / kind for kind in KINDS}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEP500_HOME", str(folder / "home"))
        tiny = ["--tier", "tiny", "--framework", "reference", "--seeds", "3"]
        cli.main(
            ["bench", "sum(range(99))", "--budget", "0.6", "--out", str(out["bench"])]
        )
        cli.main(["run", str(RECIPE), *tiny, "--out", str(out["recipe"])])
        again = ["--out", str(out["reproduction"])]
        cli.main(["reproduce", str(out["recipe"]), "--recipe", str(RECIPE), *again])
        recorded_diagnosis(0.5, out["doctor"])
        conformance(out["conformance"])
        instrumented(out["instrumented"])
        check = [
            "check",
            "operator",
            "Relu",
            "--framework",
            "reference",
            "--dtype",
            "float32",
        ]
        assert cli.main(check) == 0
        assert cli.main(network_check(folder)) == 0
        assert cli.main(["check", "sampler", "ordered_sampler", "--epochs", "100"]) == 0
        assert (
            cli.main(
                ["bench", "elementary", "exp", "--framework", "reference", "--n", "9"]
            )
            == 0
        )
        collective = ["--transport", "virtual", "--size", "8", "1KiB", "--ranks", "3"]
        assert cli.main(["bench", "collective", *collective]) == 0
        # their verbs chose the folder themselves
        for line in (folder / "home" / "runs").iterdir():
            kind = bundle.read(line).kind
            shutil.copytree(line, out[kind])
    return out


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


def table_width(text: str) -> int:
    """The widest line of a table, apart from lines with a word that cannot be broken."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return max(
        (len(line) for line in lines if max(map(len, line.split())) < 60), default=0
    )


def d5(capsys, *words: object) -> str:
    assert cli.main([str(word) for word in words]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_every_kind_there_is_is_tested_or_not_ours():
    ours = {registry.file_stem(name) for name in registry.known("results")}
    assert set(KINDS) <= ours
    assert all(result_kind(kind).name == kind for kind in ours)


@pytest.mark.parametrize("kind", KINDS)
def test_verify_show_and_report(made, kind, capsys, tmp_path):
    path = made[kind]
    assert "verified" in d5(capsys, "verify", path)
    text = d5(capsys, "show", path)
    assert text.strip() and f"d5 verify {path}" in text and "PROBLEM" not in text
    assert 0 < table_width(text) <= 100
    data = json.loads(d5(capsys, "show", path, "--json"))
    assert data["kind"] == kind and data["finished"] and data["problems"] == []
    assert data["bundle"] == str(path) and data["hash"] == bundle.read(path).hash
    assert d5(capsys, "report", path, "--format", "terminal") == text
    assert d5(capsys, "report", path, "--format", "markdown").startswith("# ")
    blocks = json.loads(d5(capsys, "report", path, "--format", "json"))
    assert blocks["type"] == "Report" and blocks["blocks"]
    d5(capsys, "report", path, "--out", tmp_path / "page.html")
    check_page((tmp_path / "page.html").read_text())


@pytest.mark.parametrize("name", OLD)
def test_bundles_of_the_version_before(name, capsys, tmp_path):
    path = BEFORE / f"{name}.zip"
    assert "verified" in d5(capsys, "verify", path)
    text = d5(capsys, "show", path)
    assert "PROBLEM" not in text and 0 < table_width(text) <= 100
    assert json.loads(d5(capsys, "show", path, "--json"))["problems"] == []
    assert d5(capsys, "report", path, "--format", "markdown").startswith("# ")
    d5(capsys, "report", path, "--out", tmp_path / "page.html")
    assert "<svg" in (tmp_path / "page.html").read_text()
    same = json.loads(d5(capsys, "compare", path, path, "--json"))
    assert {c["verdict"] for c in same["comparisons"]} <= {"same", "inconclusive"}


def test_bundles_of_the_version_before_against_new_ones(made, capsys, tmp_path):
    text = d5(capsys, "compare", BEFORE / "recipe-0.1.0.zip", made["recipe"])
    assert "FIXED is the same in both" in text and "test accuracy" in text
    statements = ["sum(range(100))", "sum(range(200))"]
    d5(
        capsys,
        "bench",
        *statements,
        "--processes",
        3,
        "--budget",
        1,
        "--out",
        tmp_path / "new",
    )
    compared = json.loads(
        d5(capsys, "compare", BEFORE / "bench-0.1.0.zip", tmp_path / "new", "--json")
    )
    assert [c["name"] for c in compared["comparisons"]] == statements
    assert all(c["low"] <= c["ratio"] <= c["high"] for c in compared["comparisons"])
    assert (
        cli.main(["compare", str(BEFORE / "operator-0.1.0.zip"), str(tmp_path / "new")])
        == 2
    )
    assert "nothing to compare" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind", ["check", "network_check", "elementary", "conformance", "doctor"]
)
def test_kinds_that_cannot_be_compared_say_so(made, kind, capsys):
    assert cli.main(["compare", str(made[kind]), str(made[kind])]) == 2
    said = capsys.readouterr().err
    assert (
        said.count("\n") == 1
        and "cannot be compared" in said
        and "takes bench, " in said
    )


def test_two_kinds_are_not_compared(made, capsys):
    assert cli.main(["compare", str(made["bench"]), str(made["recipe"])]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "'bench'" in said and "'recipe'" in said


def rebuilt(path: Path, folder: Path, blocks: int, derived: dict | None = None) -> Path:
    """The first blocks of a bundle in a new one, unfinished or with other derived numbers."""
    found = bundle.read(path)
    documents = {
        name: found.documents[name] for name in ("plan.json", "environment.json")
    }
    writer = bundle.create(folder, documents, kind=found.kind)
    for block in found.blocks[:blocks]:
        writer.append(block)
    if derived is None:
        writer.close()
    else:
        files = {name: found.load(name) for name in found.files}
        writer.finish({"derived.json": derived}, files)
    return folder


@pytest.mark.parametrize("blocks", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_an_unfinished_bundle_is_shown_or_refused_in_one_line(
    made, kind, blocks, capsys, tmp_path
):
    path = rebuilt(made[kind], tmp_path / "part", blocks)
    assert verify(path).ok and not verify(path).finished
    for verb in (["show"], ["show", "--json"], ["report", "--format", "markdown"]):
        code = cli.main([verb[0], str(path), *verb[1:]])
        said = capsys.readouterr()
        assert code == 0 or (
            said.err.count("\n") == 1 and "before it ended" in said.err
        )
        if code == 0 and verb == ["show"]:
            assert "unfinished" in said.out
    assert blocks == 0 or code == 0


def leaves(value: object) -> list[tuple]:
    """The places of all values inside a JSON value, lists by their first element only."""
    if isinstance(value, dict):
        items = list(value.items())
    else:
        items = list(enumerate(value[:1])) if isinstance(value, list) else []
    places: list[tuple] = []
    for key, inner in items:
        places += [(key,), *((key, *rest) for rest in leaves(inner))]
    return places


@pytest.mark.parametrize("kind", KINDS)
def test_a_false_number_is_found(made, kind, tmp_path):
    found = bundle.read(made[kind])
    derived: Any = copy.deepcopy(found.documents["derived.json"])
    numbers = [p for p in leaves(derived) if type(value_at(derived, p)) in (int, float)]
    place = next(place for place in numbers if place != ("procedure",))
    assert verify(rebuilt(made[kind], tmp_path / "true", 10**6, derived)).ok
    change(derived, place, 12345.678)
    path = rebuilt(made[kind], tmp_path / "false", 10**6, derived)
    assert not verify(path).ok and "12345.678" in verify(path).problems[0]
    assert "PROBLEM" in terminal(report_of(load(path)))


def value_at(document: object, place: tuple) -> object:
    for key in place:
        document = document[key]  # type: ignore[index]
    return document


def change(document: object, place: tuple, value: object) -> None:
    value_at(document, place[:-1])[place[-1]] = value  # type: ignore[index]


def drop(document: object, place: tuple) -> None:
    del value_at(document, place[:-1])[place[-1]]  # type: ignore[attr-defined]


def mutations(document: object) -> list[object]:
    """The document again and again, each time with one value dropped or replaced."""
    changed = []
    for place in leaves(document):
        for value in JUNK:
            another = copy.deepcopy(document)
            change(another, place, value)
            changed.append(another)
        another = copy.deepcopy(document)
        drop(another, place)
        changed.append(another)
    return changed


def survives(kind: str, plan: object, blocks: list, environment: object) -> bool:
    """Whether it is shown; if not, the refusal is one line. Anything else is a traceback and fails the test."""
    documents = {"plan.json": plan, "environment.json": environment}
    found = Bundle(Path("hostile"), False, kind, documents=documents, blocks=blocks)
    try:
        record = record_of(found)
        report = report_of(record)
        as_json(record)
    except Deep500Error as error:
        assert "\n" not in str(error) and "\x1b" not in str(error)
        return False
    for text in (terminal(report), markdown(report), json.dumps(to_json(report))):
        assert text and "\x1b" not in text
    if kind not in ("bench", "recipe"):  # their pictures have tests of their own
        assert "\x1b" not in html(report)
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_plans_and_blocks_of_anyone_end_in_one_line(made, kind):
    found = bundle.read(made[kind])
    plan, blocks = found.documents["plan.json"], found.blocks[:3]
    environment = found.documents["environment.json"]
    assert survives(kind, plan, blocks, environment)
    shown = [survives(kind, other, blocks, environment) for other in mutations(plan)]
    blocks = blocks[:2]
    for i in range(len(blocks)):
        for other in mutations(blocks[i]):
            shown.append(
                survives(
                    kind, plan, [*blocks[:i], other, *blocks[i + 1 :]], environment
                )
            )
    assert False in shown  # something was refused
    for other in JUNK:
        survives(kind, plan, blocks, other)
        survives(kind, plan, [other, *blocks], environment)
        survives(kind, other, blocks, environment)


@pytest.mark.parametrize(
    "kind", ["", "novel", "../bench", "_bench", "benching", "Bench"]
)
def test_an_unknown_kind_is_one_line(kind, tmp_path):
    with pytest.raises(
        Deep500Error, match="not known to this version; there are: bench"
    ):
        record_of(Bundle(tmp_path, True, kind))
