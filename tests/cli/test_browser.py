"""--browser shows the page in the user's browser."""

from pathlib import Path

import pytest

from deep500.cli import main

GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser that notes which page it is to show."""
    import webbrowser

    program = tmp_path / "browser"
    seen = tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(program))
    monkeypatch.setattr(webbrowser, "_tryorder", None)
    monkeypatch.setattr(webbrowser, "_browsers", {})
    return seen


@pytest.mark.parametrize("verb", ["show", "report"])
def test_the_page_is_opened(verb, browser, tmp_path, capsys):
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes((GOLDEN / "bench.zip").read_bytes())
    assert main([verb, str(bundle), "--browser"]) == 0
    page = tmp_path / "bundle.zip.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert browser.read_text().strip() == page.as_uri()
    assert "report:" in capsys.readouterr().out


def test_no_browser_and_no_page_are_one_line(tmp_path, monkeypatch, capsys):
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes((GOLDEN / "bench.zip").read_bytes())
    monkeypatch.setattr("webbrowser.open", lambda url: False)
    assert main(["show", str(bundle), "--browser"]) == 2
    assert "no browser could be started" in capsys.readouterr().err
    assert main(["report", str(bundle), "--format", "markdown", "--browser"]) == 2
    assert "--browser is for a page" in capsys.readouterr().err
