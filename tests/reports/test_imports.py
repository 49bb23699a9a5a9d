"""What draws is imported when something is drawn: not for text, and rich only on a terminal."""

import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = Path(__file__).parents[1] / "data" / "before"
SHOW = """
import sys
from deep500 import cli
from deep500.bundle.records.loading import load, report_of
from deep500.reports.terminal import terminal
report = report_of(load({path!r}))
assert terminal(report, drawn={drawn})
print(*sorted({{"rich", "matplotlib"}} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", ["bench", "operator", "recipe"])
@pytest.mark.parametrize(("drawn", "loaded"), [(False, []), (True, ["rich"])])
def test_nothing_that_draws_is_imported_for_text(name, drawn, loaded):
    code = SHOW.format(path=str(BEFORE / f"{name}-0.1.0.zip"), drawn=drawn)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == loaded
