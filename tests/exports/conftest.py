"""Bundles to export: those that the golden tests keep, one of every kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deep500 import cli
from deep500.bundle.records.loading import load

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def export(tmp_path: Path, capsys: pytest.CaptureFixture) -> Callable[..., Path]:
    """`d5 export` of a golden bundle: the file or folder that it wrote."""

    def run(name: str, to: str, *options: str, code: int = 0) -> Path:
        out = tmp_path / f"{name}.{to}"
        argv = ["export", str(GOLDEN / f"{name}.zip"), "--to", to, "--out", str(out)]
        assert cli.main([*argv, *options]) == code, capsys.readouterr().err
        return out

    return run


@pytest.fixture
def golden() -> Callable[[str], Any]:
    """The record of a golden bundle."""
    return lambda name: load(GOLDEN / f"{name}.zip")
