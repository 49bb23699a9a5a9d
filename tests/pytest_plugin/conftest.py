"""Suites of their own, each run by a pytest of its own with the plugin."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of tests."""

    def write(source: str, file: str = "test_speed.py") -> Path:
        path = tmp_path / file
        path.write_text(source)
        return path

    return write


@pytest.fixture
def run_pytest(tmp_path: Path) -> Run:
    """pytest as a user starts it, with nothing but this plugin."""

    def run(
        *arguments: object, plugin: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "DEEP500_HOME": str(tmp_path / "home"),
        }
        environment.pop("PYTEST_ADDOPTS", None)
        command = [sys.executable, "-m", "pytest"]
        if plugin:
            command += ["-p", "deep500.pytest_plugin"]
        command += ["-p", "no:cacheprovider", *map(str, arguments)]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment | variables,
            capture_output=True,
            text=True,
            timeout=240,
        )

    return run
