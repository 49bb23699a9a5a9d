"""A file in the current folder is run only if the user names it, whatever it is called."""

import subprocess
import sys
from pathlib import Path

import pytest

# As the installed script starts: the current folder is not on the path of imports.
D5 = [sys.executable, "-P", "-m", "deep500.cli"]
PLANTED = [
    "ctypes", "deep500", "json", "lazy_loader", "numpy", "os", "random", "recipes", "runpy", "secrets",
    "subprocess", "tempfile", "torch", "zlib",
]  # fmt: skip
NOTE = "note-of-a-planted-file"

VERBS = {
    "bench": ["bench", "pass", "--budget", "0.2", "--processes", "2"],
    "command": ["bench", "--command", "true", "--budget", "0.2"],
    "check": ["check", "operator", "Relu", "--framework", "reference", "--dtype", "float32"],
    "operator": ["bench", "operator", "Relu", "--framework", "reference", "--shape", "4x6", "--budget", "1"],
    "doctor": ["doctor"],
    "run": ["run", "digits_cnn", "--tier", "tiny", "--seeds", "1"],
}  # fmt: skip


def d5(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*D5, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    for name in PLANTED:
        text = f"open({NOTE!r}, 'a').write({name!r} + ' ')\nraise SystemExit(77)\n"
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


QUICK = ("bench", "check")


@pytest.mark.parametrize(
    "verb",
    [v if v in QUICK else pytest.param(v, marks=pytest.mark.slow) for v in VERBS],
)
def test_no_file_of_the_current_folder_is_run_by_itself(
    planted: Path, verb: str
) -> None:
    done = d5(planted, *VERBS[verb])
    note = planted / NOTE
    assert not note.exists(), note.read_text()
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


def test_a_statement_may_import_modules_of_the_current_folder(planted: Path) -> None:
    (planted / "helper_of_a_test.py").write_text("import json\nx = json.dumps([1])\n")
    setup = "from helper_of_a_test import x; assert x == '[1]'"
    done = d5(
        planted,
        "bench",
        "len(x)",
        "--setup",
        setup,
        "--budget",
        "0.2",
        "--processes",
        "2",
    )
    assert done.returncode == 0, done.stderr
    assert not (planted / NOTE).exists()


@pytest.mark.slow
def test_a_function_may_be_one_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "helper_of_a_test.py").write_text("def f(): return 1\n")
    done = d5(tmp_path, "bench", "--function", "helper_of_a_test:f", "--budget", "0.2")
    assert done.returncode == 0, done.stderr


OPERATOR = """
import numpy as np
from helper_of_a_test import TWO

def double(x):
    return x * np.float32(TWO)

def truth(x):
    return x * 2
"""


def test_an_operator_may_import_what_lies_beside_it(
    planted: Path, tmp_path: Path
) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "helper_of_a_test.py").write_text("TWO = 2\n")
    (beside / "my.py").write_text(OPERATOR)
    words = ["--framework", "reference", "--dtype", "float32"]
    done = d5(
        planted,
        "check",
        "operator",
        "beside/my.py:double",
        "--reference",
        "beside/my.py:truth",
        *words,
    )
    assert "cannot be run" not in done.stderr and "no file or module" not in done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (planted / NOTE).exists()


def test_a_recipe_may_import_what_lies_beside_it(planted: Path) -> None:
    beside = planted / "beside"
    beside.mkdir()
    (beside / "helper_of_a_test.py").write_text("FIXED = 1\n")
    (beside / "my_recipe.py").write_text(
        "from helper_of_a_test import FIXED\nMUTABLE = {}\n"
    )
    done = d5(planted, "run", "beside/my_recipe.py")
    assert "has no METRICS" in done.stderr  # and what it imports was there
    assert not (planted / NOTE).exists()
