"""A kind of result that is added as the documentation says: one file, and every verb knows it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-result-kind.md").read_text()
KIND, RECORDING = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def python(tmp_path):
    """Python with a package installed that brings the kind of the page."""
    (tmp_path / "imports_kind.py").write_text(KIND)
    installed = tmp_path / "imports_kind-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: imports-kind\nVersion: 0\n"
    )
    points = "[deep500.results]\nImports = imports_kind:Imports\n"
    (installed / "entry_points.txt").write_text(points)
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = os.environ | {
        "PYTHONPATH": paths,
        "DEEP500_HOME": str(tmp_path / "home"),
    }

    def call(*words: object) -> subprocess.CompletedProcess:
        command = [sys.executable, *map(str, words)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            cwd=tmp_path,
        )

    return call


def test_the_kind_of_the_page_works_in_every_verb(python, tmp_path):
    made = python("-c", RECORDING + "print(finished.bundle)")
    assert made.returncode == 0, made.stderr
    path = made.stdout.strip()
    d5 = ("-m", "deep500.cli")
    assert "verified: 1 blocks" in python(*d5, "verify", path).stdout
    shown = python(*d5, "show")  # the last measurement
    assert "| `json` | 2.000 ms |   1 |" in shown.stdout, shown
    data = json.loads(python(*d5, "show", path, "--json").stdout)
    assert data["kind"] == "imports" and data["rows"][0]["median"] == 0.002
    page = python(*d5, "report", path, "--out", tmp_path / "page.html")
    assert (
        page.returncode == 0
        and "<code>json</code>" in (tmp_path / "page.html").read_text()
    )
    assert "Imports" in python(*d5, "list", "results").stdout
    assert "imports" in python(*d5, "list").stdout
    refused = python(*d5, "compare", path, path)
    assert refused.returncode == 2 and "cannot be compared" in refused.stderr
    samples = Path(path) / "samples.jsonl"
    samples.write_text(samples.read_text().replace("0.002", "0.001"))
    assert python(*d5, "verify", path).returncode == 1
