"""The check of a noun that is added as the documentation says: one file, and `d5 check` knows it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500 import registry
from deep500.check import asking
from deep500.check.contract import NounCheck
from deep500.check.report import CheckResult
from deep500.errors import Deep500Error, InternalError
from deep500.topologies import Torus

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-check.md").read_text()
[CHECK] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SCHEDULES = """
import os
from deep500.contracts.schedule import Schedule

class Negative(Schedule):
    start: float = 0.1
    def value(self, xp, step):
        return self.start - 0.01 * step

class Zero(Schedule):
    def value(self, xp, step):
        return 0.0 * step

class Raises(Schedule):
    def value(self, xp, step):
        raise ValueError("of no value")

class Crashes(Schedule):
    def value(self, xp, step):
        os._exit(7)
"""
TOPOLOGIES = """
from deep500.check.contract import NounCheck
class CheckTopology(NounCheck):
    "check topologies"
    def questions(self, subject, where, progress):
        yield subject.no_such_name
"""
D5 = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def d5(tmp_path: Path) -> D5:
    """The command, with a package installed that brings the check of the page."""
    (tmp_path / "brings_check.py").write_text(CHECK)
    (tmp_path / "mine.py").write_text(SCHEDULES)
    installed = tmp_path / "brings_check-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: brings-check\nVersion: 0\n"
    )
    points = "[deep500.check]\nCheckSchedule = brings_check:CheckSchedule\n"
    (installed / "entry_points.txt").write_text(points)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
        "DEEP500_HOME": str(tmp_path / "home"),
    }

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "deep500.cli", *words]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            cwd=tmp_path,
        )

    return call


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    [report] = json.loads(done.stdout)["reports"]
    assert report["noun"] == "schedule"
    return {check["name"]: check["verdict"] for check in report["checks"]}


def test_a_right_subject_is_ok_and_its_bundle_verifies(d5: D5, tmp_path: Path) -> None:
    bundle = str(tmp_path / "bundle")
    done = d5("check", "schedule", "Cosine(0.1, 60)", "--json", "--out", bundle)
    assert done.returncode == 0, done.stderr
    assert verdicts(done) == {"sign": "ok", "arrays": "ok", "decay": "ok"}
    assert "verified: 1 blocks" in d5("verify", bundle).stdout
    assert "Cosine(0.1, 60): ok" in d5("show", bundle).stdout


def test_a_wrong_one_is_wrong(d5: D5) -> None:
    done = d5("check", "schedule", "mine.py:Negative", "--steps", "30", "--json")
    assert done.returncode == 1, done.stderr
    assert verdicts(done) == {"sign": "wrong", "arrays": "ok", "decay": "ok"}


def test_what_cannot_be_judged_does_not_apply(d5: D5) -> None:
    done = d5("check", "schedule", "mine.py:Zero", "--json")
    assert done.returncode == 0, done.stderr
    assert verdicts(done)["decay"] == "not applicable"


def test_a_crash_is_wrong(d5: D5) -> None:
    done = d5("check", "schedule", "mine.py:Crashes", "--json")
    assert done.returncode == 1
    assert verdicts(done) == {"process": "wrong"}
    assert "exit code 7" in done.stdout


def test_an_exception_of_the_subject_is_wrong_and_names_its_place(d5: D5) -> None:
    done = d5("check", "schedule", "mine.py:Raises", "--json")
    assert done.returncode == 1
    assert verdicts(done) == {"process": "wrong"}
    assert "ValueError: of no value, in Raises.value (mine.py, line " in done.stdout


@pytest.mark.parametrize("text", ["Ring", "mine.py:Own"])
def test_a_defect_of_a_question_is_ours_unless_a_users_code_took_part(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict = {}
    file = asking.__file__.replace("asking.py", "check_topology.py")
    exec(compile(TOPOLOGIES, file, "exec"), names)
    monkeypatch.setattr(asking, "check_class", lambda noun: names["CheckTopology"])
    monkeypatch.chdir(tmp_path)
    own = "from deep500.topologies import Ring\nclass Own(Ring): pass\n"
    (tmp_path / "mine.py").write_text(own)
    arguments: tuple = ("topology", {}, text, {}, "", 9.0, print)
    if text == "Ring":
        with pytest.raises(InternalError, match=r"check/check_topology\.py, line 6"):
            asking.ask(*arguments)
        return
    [fault] = asking.ask(*arguments)["checks"]
    assert fault["name"] == "process" and fault["ok"] is False
    assert "no_such_name" in fault["text"]


def test_settings_by_name_reach_the_subject() -> None:
    class CheckTopology(NounCheck):
        """check topologies"""

    loaded = CheckTopology().load("Torus", {"rows": 2})
    assert loaded == Torus(2)
    with pytest.raises(Deep500Error, match="no topology is named 'Tours'"):
        CheckTopology().load("Tours", {})


def test_a_noun_without_built_in_ones_says_so() -> None:
    class CheckPlot(NounCheck):
        """check plots"""

    with pytest.raises(Deep500Error, match=r"no built-in plots: .* my\.py:Mine"):
        CheckPlot().accept("Mine", {})


def test_numbers_of_numpy_are_pythons() -> None:
    error: Any = np.float32(0.5)
    check = CheckResult("x", error < 1, error, 1)
    assert check.ok is True and type(check.value) is float
    json.dumps(check.to_json())


@pytest.mark.parametrize(
    ("noun", "folder"),
    [("codec", "codecs"), ("topology", "topologies"), ("loss", "losses")],
)
def test_the_folder_of_a_noun(noun: str, folder: str) -> None:
    assert registry.plural(noun) == folder and registry.singular(folder) == noun


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["Cosin(0.1, 60)"], "Did you mean 'Cosine'"),
        (["Cosine(0.1, 60)", "--steps", "many"], "--steps"),
        (["Cosine(0.1, 60)", "--step", "3"], "Did you mean '--steps'"),
    ],
)
def test_bad_input_is_one_line(d5: D5, words: list[str], reason: str) -> None:
    done = d5("check", "schedule", *words)
    assert done.returncode == 2
    assert reason in done.stderr and done.stderr.count("\n") == 1
