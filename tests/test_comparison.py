"""The comparison page is what its script writes, and every "offered" names a test that there is."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "_comparison.py"
GROUPS = (
    "Perf Con Acc Tim Cos Ene Util Mem Tput Brk Sca Com",
    "TTA FTA Lat Clo Ope Inf Ops Img Obj Spe Txt RL",
)
COLUMNS = " ".join(GROUPS).split()


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("comparison", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def missing(column):
    """What is wrong with the proof of a column."""
    if column["deep500"] == "no":
        return "a test of nothing" if "test" in column else ""
    file, _, name = column.get("test", "").partition("::")
    path = ROOT / "tests" / file
    if not path.is_file():
        return f"no file {file!r}"
    tree = ast.parse(path.read_text())
    functions = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    return "" if not name or name in functions else f"no function {name!r} in {file}"


def test_the_page_is_up_to_date(script):
    assert script.PAGE.read_text() == script.page()


def test_a_page_that_is_out_of_date_is_noticed(script, tmp_path, monkeypatch):
    page = tmp_path / "comparison.md"
    page.write_text(script.page().replace("●", "○", 1))
    monkeypatch.setattr(script, "PAGE", page)
    assert script.main(["--check"]) == 1
    assert script.main([]) == 0 and script.main(["--check"]) == 0


def test_every_column_is_there_and_proved(script):
    columns = script.data()["column"]
    assert [column["name"] for column in columns] == COLUMNS
    assert [missing(column) for column in columns] == [""] * len(COLUMNS)


def test_a_proof_that_is_not_there_is_found():
    column = {"deep500": "yes", "test": "metrics/test_metrics.py::test_nothing"}
    assert "no function" in missing(column)
    assert "no file" in missing({"deep500": "yes"})
    assert missing({"deep500": "no", "test": "x"})


def test_every_peer_has_a_mark_in_every_column(script):
    for peer, marks in script.data()["peers"].items():
        assert len(marks) == len(COLUMNS), peer
        assert set(marks) <= set(script.LETTERS)


def test_the_script_runs_by_itself():
    command = [sys.executable, str(SCRIPT), "--check"]
    assert subprocess.run(command, cwd=ROOT, timeout=120).returncode == 0
