"""docs/add-a-network.md is true: its file alone makes a network, with tests."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-network.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1)
FILE = re.search(r"Save this as `(.*?)`", PAGE).group(1)
COMMAND = re.search(r'```bash\n\S+ (-m pytest .*?) -m "not slow"( .*?)\n', PAGE)
USE = """
import deep500 as d5
network = d5.networks.create("all_cnn", channels=8, outputs=100)
assert network.inputs["x"].shape[1:] == (3, 32, 32) and network.outputs == ["loss", "logits"]
assert network.params["head.weight"].shape == (100, 8, 1, 1)
"""


def outcome(project: Path, code: str) -> subprocess.CompletedProcess:
    """The project copied, one file added, and the page's command run on the copy."""
    for part in ["deep500", "tests/networks"]:
        shutil.copytree(
            ROOT / part, project / part, ignore=shutil.ignore_patterns("__pycache__")
        )
    files = ["pyproject.toml", "tests/conftest.py", "tests/slow_cells.txt"]
    for part in [*files, "docs/add-a-network.md"]:
        (project / part).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / part, project / part)
    assert not (project / FILE).exists()
    (project / FILE).write_text(code, encoding="utf-8")
    command = [*COMMAND.group(1).split(), "-m", "not slow", *COMMAND.group(2).split()]
    return subprocess.run(
        [sys.executable, *command],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
def test_the_page_makes_a_network(tmp_path: Path) -> None:
    done = outcome(tmp_path, CODE)
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 2
    subprocess.run([sys.executable, "-c", USE], cwd=tmp_path, check=True, timeout=120)


@pytest.mark.slow
def test_a_parameter_that_nothing_uses_fails_the_tests_that_come_by_themselves(
    tmp_path: Path,
) -> None:
    planted = 'builder.param("spare", (3, 3))\n        x = builder.conv("head"'
    done = outcome(tmp_path, CODE.replace('x = builder.conv("head"', planted))
    assert done.returncode == 1 and "spare" in done.stdout


def test_the_page_fits_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 50
