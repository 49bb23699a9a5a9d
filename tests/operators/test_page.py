"""docs/add-an-operator.md is true: its file alone makes an operator, with tests."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-an-operator.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
FILE = re.search(r"Save this as `(.*?)`", PAGE).group(1)


def outcome(project: Path, code: str) -> subprocess.CompletedProcess:
    """The project copied, one file added, and the page's command run on the copy."""
    for part in ["deep500", "tests/operators"]:
        shutil.copytree(
            ROOT / part, project / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    files = ["pyproject.toml", "tests/conftest.py", "tests/slow_cells.txt"]
    for part in [*files, "docs/add-an-operator.md"]:
        (project / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, project / part)
    assert not (project / FILE).exists()
    (project / FILE).write_text(code, encoding="utf-8")
    command = re.search(r"```bash\n\S+ (-m pytest .*?)\n", PAGE).group(1).split()
    return subprocess.run(
        [sys.executable, *command],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_page_makes_an_operator(tmp_path: Path) -> None:
    done = outcome(tmp_path, CODE)
    assert done.returncode == 0, done.stdout
    passed = int(re.search(r"(\d+) passed", done.stdout).group(1))
    assert passed > 3 * 10 and "skipped" not in done.stdout  # three cases, ten promises


@pytest.mark.slow
def test_an_error_in_the_derivative_fails_the_tests_that_come_by_themselves(
    tmp_path: Path,
) -> None:
    done = outcome(tmp_path, CODE.replace("dy, xp.zeros_like(dy))", "dy, dy)"))
    assert done.returncode == 1
    assert "test_the_derivative_agrees_with_central_differences[Relu6-1]" in done.stdout
    assert "test_the_formula_gives_the_same_everywhere" not in done.stdout


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 50
