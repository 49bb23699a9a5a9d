import json
import subprocess
import sys

import pytest

from deep500 import measure, registry


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """Two real results: b is twice the work of a under the same name."""
    folder = tmp_path_factory.mktemp("bundles")
    for name, work in (("a", 2000), ("b", 4000)):
        measure.run(
            {"sum": f"sum(range({work}))"},
            budget_s=1.2,
            processes=6,
            folder=folder / name,
        )
    return folder


def test_compare_gates_on_slower_only(d5, bundles):
    slower = d5("compare", bundles / "a", bundles / "b", "--gate", "--json")
    assert slower.code == 1
    assert slower.json["comparisons"][0]["verdict"] == "slower"
    assert d5("compare", bundles / "b", bundles / "a", "--gate").code == 0
    # without a gate it only tells
    assert d5("compare", bundles / "a", bundles / "b").code == 0
    text = d5("compare", bundles / "a", bundles / "b").out
    assert "slower" in text and "n = " in text


def test_the_gate_closes_on_an_entry_that_one_side_lacks(d5, bundles, tmp_path):
    statements = {"sum": "sum(range(2000))", "slow": "sum(range(4000))"}
    measure.run(statements, budget_s=0.6, processes=3, folder=tmp_path / "both")
    both, one = tmp_path / "both", bundles / "a"
    for sides in ((both, one), (one, both)):
        # with this margin nothing is slower
        gate = d5("compare", *sides, "--gate", "--margin", "1000", "--json")
        assert gate.code == 1, gate.out
        names = [comparison["verdict"] for comparison in gate.json["comparisons"]]
        assert "slower" not in names
        only = "only_in_a" if sides[0] == both else "only_in_b"
        assert gate.json[only] == ["slow"]
    assert d5("compare", both, both, "--gate").code == 0


def test_show_and_report_in_every_form(d5, bundles, tmp_path):
    assert "sum" in d5("show", bundles / "a").out
    assert d5("show", bundles / "a", "--json").json["entries"][0]["name"] == "sum"
    assert d5("report", bundles / "a", "--format", "markdown").out.startswith("#")
    page = tmp_path / "page.html"
    assert d5("report", bundles / "a", "--out", page).code == 0
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_verify_says_yes_then_no(d5, bundles, tmp_path):
    good = d5("verify", bundles / "a", "--json")
    assert good.code == 0 and good.json["ok"] and good.json["problems"] == []
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in (bundles / "a").iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    data = bytearray((broken / "samples.jsonl").read_bytes())
    data[len(data) // 2] ^= 1
    (broken / "samples.jsonl").write_bytes(data)
    bad = d5("verify", broken, "--json")
    assert bad.code == 1 and not bad.json["ok"] and bad.json["problems"]


def test_the_last_run_is_the_default_and_runs_are_listed(d5):
    assert d5("show").code == 2
    assert "no runs yet" in d5("list").out
    d5("bench", "sum(range(100))", "--budget", 0.5)
    [run] = d5("list", "--json").json
    assert run["state"] == "finished"
    assert "sum(range(100))" in d5("show").out
    assert d5("show", run["run"]).code == 0


def test_doctor_and_sensors(d5):
    found = d5("doctor", "--budget", "1", "--json").json
    assert found["clock"]["overhead_ns"] > 0 and 0 < found["completeness"] <= 1
    assert found["noise"]["n"] > 0
    assert "## Noise" in d5("doctor", "--budget", "1").out
    assert any(row["sensor"] for row in d5("list", "sensors", "--json").json)


@pytest.mark.parametrize(
    "args",
    [
        ("verify", "nowhere"),
        ("show", "nowhere"),
        ("compare", "nowhere", "nowhere"),
        ("report", "nowhere"),
        ("list", "everything"),
        ("fly",),
        (),
    ],
)
def test_bad_input_is_one_line(d5, args):
    answer = d5(*args)
    assert answer.code == 2
    assert answer.err.startswith("d5: ") and answer.err.count("\n") == 1, answer.err


def test_hostile_bundles_are_refused_by_every_verb(d5, tmp_path):
    for name, text in {
        "list": "[]",
        "deep": "[" * 100_000,
        "huge": '{"format": 1' + "0" * 5000 + "}",
        "newer": json.dumps({"format": 99}),
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "manifest.json").write_text(text)
        (folder / "samples.jsonl").write_text(text)
        for verb in ("verify", "show", "report"):
            answer = d5(verb, folder)
            assert answer.code in (1, 2) and "Traceback" not in answer.err, answer.err


def test_help_lists_every_verb_and_imports_little():
    code = (
        "import sys; from deep500.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "assert 'numpy' not in sys.modules, 'numpy'"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert all(
        verb in done.stdout
        for verb in ("doctor", "bench", "compare", "show", "verify", "report", "list")
    )


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("frameworks", "pytorch"),
        ("operators", "Conv"),
        ("networks", "DigitsCnn"),
        ("transformations", "DeadNodes"),
        ("optimizers", "Adam"),
        ("datasets", "Digits"),
        ("metrics", "TestAccuracy"),
        ("samplers", "ShuffleSampler"),
        ("initializers", "HeNormal"),
        ("recipes", "digits_cnn"),
        ("schemes", "LocalSGD"),
        ("topologies", "Torus"),
        ("collectives", "Ring"),
    ],
)
def test_everything_there_is_can_be_listed(d5, what, name):
    assert name in d5("list", what).out
    assert any(name in row.values() for row in d5("list", what, "--json").json)


def test_frameworks_list_what_they_have_by_themselves_and_through_us(d5):
    rows = {row["framework"]: row for row in d5("list", "frameworks", "--json").json}
    assert (
        rows["onnxruntime"]["asynchronous"] == "d5"
        and rows["onnxruntime"]["autodiff"] == "d5"
    )
    assert rows["pytorch"]["decentralised"] == "yes, d5"
    assert rows["reference"]["compiled"] == "–"


def test_lists_are_whole_and_fit_a_terminal(d5):
    assert (
        len(d5("list", "operators", "--json").json)
        == len(registry.known("operators"))
        > 100
    )
    assert len(d5("list", "operators", "--most", 3, "--json").json) == 3
    assert max(map(len, d5("list", "frameworks").out.splitlines())) < 120
