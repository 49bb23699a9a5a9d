"""Recorded bundles of every kind print what they printed when they were recorded."""

import json
import re
from pathlib import Path

import pytest

from deep500 import bundle, registry

from .golden import GOLDEN, names, printed

NUMBER = re.compile(r"\d+\.\d{7,}(e[+-]\d+)?")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "home"))


@pytest.mark.parametrize("name", names())
def test_it_prints_what_it_printed(name: str) -> None:
    for file, text in printed(name).items():
        text = in_order(file, text)
        kept = in_order(file, (GOLDEN / file).read_text())
        assert NUMBER.sub("#", text) == NUMBER.sub("#", kept), file
        assert numbers(text) == pytest.approx(numbers(kept), rel=1e-9), file


def in_order(file: str, text: str) -> str:
    """The text; JSON, which is followed by the exit code, with its keys in order."""
    if not file.endswith(".json"):
        return text
    document, end = json.JSONDecoder().raw_decode(text)
    return json.dumps(document, indent=1, sort_keys=True) + text[end:]


def numbers(text: str) -> list[float]:
    """Those with many digits: another processor may round the last ones of a logarithm differently."""
    return [float(match.group()) for match in NUMBER.finditer(text)]


def test_there_is_one_of_every_kind() -> None:
    kinds = {bundle.read(path).kind for path in GOLDEN.glob("*.zip")}
    assert kinds == {registry.file_stem(name) for name in registry.known("results")}
