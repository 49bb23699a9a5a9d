"""docs/add-a-transformation.md is true: its file alone makes a transformation, which is checked as the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-transformation.md").read_text(encoding="utf-8")
FILE_CODE, USE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FILE = re.search(r"Save this as `(.*?)`", PAGE).group(1)


def outcome(project: Path, code: str, use: str) -> subprocess.CompletedProcess:
    """The package copied, one file added, and the page's second block run on the copy."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "deep500", project / "deep500", ignore=ignored)
    assert not (project / FILE).exists()
    (project / FILE).write_text(code, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(project)}
    return subprocess.run(
        [sys.executable, "-c", use],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_page_makes_a_transformation(tmp_path: Path) -> None:
    done = outcome(tmp_path, FILE_CODE, USE)
    assert done.returncode == 0, done.stderr
    listed = [sys.executable, "-m", "deep500.cli", "list", "transformations"]
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    names = subprocess.run(
        listed, cwd=tmp_path, env=env, capture_output=True, text=True
    ).stdout
    assert "DoubleNeg" in names and "Removes pairs of Neg" in names


def test_an_error_in_it_is_found_by_the_check_of_the_page(tmp_path: Path) -> None:
    wrong = FILE_CODE.replace("inner.inputs[0])", "inner.outputs[0])")
    assert wrong != FILE_CODE
    only_the_check = re.sub(r"assert \[node.*\n", "", USE)
    done = outcome(tmp_path, wrong, only_the_check)
    assert done.returncode == 1 and "AssertionError" in done.stderr, done.stderr


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 55
