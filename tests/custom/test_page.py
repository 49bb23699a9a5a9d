"""What docs/custom-operators.md shows is what works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "custom-operators.md"


@pytest.mark.parametrize("wrong", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_files_of_the_page_run_together(tmp_path: Path, wrong: bool) -> None:
    """With one sign changed, the last line of the page finds that the two operators differ."""
    python, cpp, use = re.findall(r"```(?:python|cpp)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "my_op.py").write_text(python)
    (tmp_path / "ipowop.cpp").write_text(
        cpp.replace("= std::pow(x", "= -std::pow(x") if wrong else cpp
    )
    done = subprocess.run(
        [sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True, timeout=170
    )
    assert bool(done.returncode) is wrong, done.stderr
    assert not wrong or "Tensor-likes are not close" in done.stderr
