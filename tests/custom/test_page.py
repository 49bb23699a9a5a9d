"""What docs/custom-operators.md and docs/cpp-operators.md show is what works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
HEADER = DOCS.parent / "deep500" / "include" / "deep500" / "deep500.h"


def code_blocks(page: str) -> list[str]:
    return re.findall(
        r"```(?:python|cpp)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL
    )


@pytest.mark.parametrize("wrong", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_files_of_the_page_run_together(tmp_path: Path, wrong: bool) -> None:
    """With one sign changed, the last line of the page finds that the two operators differ."""
    python, cpp, use = code_blocks("custom-operators.md")
    (tmp_path / "my_op.py").write_text(python)
    (tmp_path / "ipowop.cpp").write_text(
        cpp.replace("= std::pow(x", "= -std::pow(x") if wrong else cpp
    )
    done = subprocess.run(
        [sys.executable, "-c", use],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert bool(done.returncode) is wrong, done.stderr
    assert not wrong or "Tensor-likes are not close" in done.stderr


@pytest.mark.parametrize("wrong", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_operator_of_two_inputs(tmp_path: Path, wrong: bool) -> None:
    """With two arguments of backward in another order, the page's own assertion fails."""
    cpp, use = code_blocks("cpp-operators.md")
    right, other = "T *dx, T *dweight", "T *dweight, T *dx"
    (tmp_path / "scaled.cpp").write_text(cpp.replace(right, other) if wrong else cpp)
    done = subprocess.run(
        [sys.executable, "-c", use],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert bool(done.returncode) is wrong, done.stderr


def test_the_page_names_every_field_of_a_tensor() -> None:
    structure = re.search(r"struct tensor_t \{.*?\n\};", HEADER.read_text(), re.DOTALL)
    assert structure is not None
    fields = re.findall(r"^    (\w+ \*?\w+);$", structure[0], re.MULTILINE)
    assert len(fields) == 4
    page = (DOCS / "cpp-operators.md").read_text()
    assert all(f"`{field}`" in page for field in fields)
