"""docs/add-a-codec.md: its class, put where the page says, is a codec like the others."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-codec.md").read_text()
TRY = """
import deep500 as d5
assert "Nearest" in d5.codecs.__all__
report = d5.check_codec(d5.codecs.TopK(0.5) | d5.codecs.Nearest(), dtypes=["float32"])
assert report.ok, report.wrong[:3]
print("fine")
"""


def test_a_codec_is_added_as_the_page_says(tmp_path: Path) -> None:
    """In a copy of the package, by one file."""
    [code] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    definition = code.split("report =")[0].replace("import deep500 as d5\n", "")
    definition = definition.replace("from deep500.", "from ..")
    (tmp_path / "deep500").mkdir()
    for entry in (ROOT / "deep500").iterdir():
        if entry.name != "codecs":
            (tmp_path / "deep500" / entry.name).symlink_to(entry)
    folder = tmp_path / "deep500" / "codecs"
    folder.mkdir()
    for entry in (ROOT / "deep500" / "codecs").glob("*.*"):
        (folder / entry.name).write_text(entry.read_text())
    (folder / "nearest.py").write_text(definition)
    assert PAGE.count("\n") <= 70  # it fits a screen
    done = subprocess.run(
        [sys.executable, "-c", TRY],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "fine\n", done.stderr[-2000:]
