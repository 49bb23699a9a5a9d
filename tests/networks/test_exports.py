"""Architectures that PyTorch exports run and train like PyTorch: benchmarks/exports.py, whole or in part."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "exports.py"


def agreement(*options: str) -> str:
    # As users run it. The flags of the tests (conftest.py) let XLA compile without optimisation, and that compiler
    # returns NaN for inception's gradients, whose operators are right one by one.
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run(
        [sys.executable, BENCHMARK, *options],
        env=env,
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    return done.stdout


def test_an_architecture_on_two_frameworks() -> None:
    options = ("--framework", "reference", "pytorch")
    assert "4 of 4 agree" in agreement("translator", *options)


@pytest.mark.slow
def test_every_architecture_on_every_framework() -> None:
    assert "220 of 220 agree" in agreement()
