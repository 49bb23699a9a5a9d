"""docs/add-an-optimizer.md: a file written as it says is found and checked (tests/test_project.py runs its code)."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-an-optimizer.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) < 75


def run(code: str, folder: Path) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_as_the_page_says_is_an_optimizer(tmp_path: Path) -> None:
    """In a copy of the package: the class is found by its name, also by the command line."""
    shutil.copytree(
        ROOT / "deep500", tmp_path / "deep500", ignore=shutil.ignore_patterns("*.pyc")
    )
    definition = BLOCKS[0].partition("\n\nrule = ")[0]
    file = tmp_path / "deep500" / "optimizers" / "sign_momentum.py"
    file.write_text(definition.replace("import deep500 as d5\n", ""))
    code = (
        "import deep500 as d5, deep500.cli\n"
        "assert d5.optimizers.SignMomentum(0.1).learning_rate == 0.1\n"
        "words = ['check', 'optimizer', 'SignMomentum', '--framework', 'reference']\n"
        "code = deep500.cli.main([*words, '--steps', '5', '--out', 'bundle'])\n"
        "assert code == 0, code\n"
    )
    assert "SignMomentum: reference ok" in run(code, tmp_path).replace("*", "")
