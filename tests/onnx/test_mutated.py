"""Models with random damage, read and run on every framework in a child process."""

import subprocess
import sys
from pathlib import Path

import pytest

from deep500.frameworks import available_frameworks

TOOL = Path(__file__).parents[2] / "benchmarks" / "_mutated.py"


def mutated(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_thirty_on_every_framework() -> None:
    done = mutated("--count", "30", "--sample", "30")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert [
        line.split(":")[0] for line in done.stdout.splitlines()
    ] == available_frameworks()


@pytest.mark.slow
@pytest.mark.parametrize("name", available_frameworks())
def test_five_thousand(name: str) -> None:
    done = mutated("--count", "5000", "--frameworks", name)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
