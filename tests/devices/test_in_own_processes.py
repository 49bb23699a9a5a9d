"""The tests of the simulated device, in processes that have not differentiated anything yet."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import IN_A_PROCESS_OF_THEIR_OWN

LIMIT_S = 3600  # only a hang takes longer
SUMMARY = re.compile(r"^(\d+) passed.* in ", re.MULTILINE)


def run_file(name: str, which: str) -> None:
    file = Path(__file__).with_name(name)
    words = (*("-q", "-p", "no:xdist", "-p", "no:cacheprovider"), "-m", which)
    command = [sys.executable, "-m", "pytest", *words, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    assert SUMMARY.search(done.stdout), done.stdout


@pytest.mark.parametrize("name", IN_A_PROCESS_OF_THEIR_OWN)
def test_quick_ones(name: str) -> None:
    run_file(name, "not slow")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ("test_clocks_under_load.py", "test_graphs.py", "test_pytorch.py")
)
def test_slow_ones(name: str) -> None:
    run_file(name, "slow")
