"""The board in a real browser: it fits a phone, the console is silent, nothing is asked for, filters are in the URL."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from deep500.board.building import BoardSettings, build
from deep500.board.site import write_site

from ..results.test_browser import BROWSER, FLAGS, read_frames
from .entries import date, forger

HOSTILE = "<img src=x onerror=alert(1)>"
# The page is changed by what a user does, and then looked at; a hidden row has no height.
LOOK = """<script>addEventListener("load", () => setTimeout(() => {
  const seen = [...document.querySelectorAll("tr[data-entry]")].filter(r => r.getBoundingClientRect().height);
  const told = { rows: seen.map(r => r.querySelector("a").textContent), hash: location.hash,
    shown: document.getElementById("shown").textContent, form: document.getElementById("filters").hidden,
    images: document.images.length };
  document.body.textContent = JSON.stringify(told);
}, 300));</script>"""
CHOOSE = """<script>addEventListener("load", () => {
  const search = document.querySelector("#filters input");
  search.value = "slow"; search.dispatchEvent(new Event("input", { bubbles: true }));
});</script>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with two leagues, a series, a hostile name and a very long one."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed: the page is not looked at in a browser")
    folder = tmp_path_factory.mktemp("browser")
    entries = folder / "entries"
    forger(1.0).seal(entries / "fast")
    forger(4.0, 95.0).seal(entries / "slow")
    forger(2.0).seal(entries / HOSTILE)
    forger(2.2).seal(entries / ("a-very-long-name-" * 8))
    for day in range(9):
        entry = forger(1.0 if day < 4 else 1.5, spread=0.005 + day / 1e5)
        entry.plan["recipe"]["mutable"]["optimizer_args"] = [0.1]
        entry.rehash()
        date(entry, day)
        entry.seal(entries / f"night-{day}")
    write_site(entries, build(entries, BoardSettings()), folder / "site")
    return folder / "site"


def opened(site: Path, folder: Path, more: str, fragment: str = "") -> dict[str, Any]:
    """What a script that is added to the page tells of it; its policy is lifted for that script alone."""
    page = (site / "index.html").read_text()
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    file = site / f"{folder.name}.html"
    file.write_text(page.replace("</body>", f"{more}</body>"))
    command = [BROWSER, *FLAGS, f"--user-data-dir={folder}/profile"]
    run = subprocess.run(
        [*command, file.as_uri() + fragment],
        capture_output=True,
        text=True,
        timeout=100,
    )
    found = re.search(r"<body>(.*)</body>", run.stdout, re.S)
    assert found, run.stderr[-500:]
    return json.loads(unescape(found[1]))


def test_the_page_fits_a_phone_and_a_desktop(site: Path, tmp_path: Path) -> None:
    page = (site / "index.html").read_text()
    broken = page.replace("<h1>", '<h1 style="width: 90rem">')
    frames = [(page, 390), (page, 1200), (broken, 390)]
    (phone, desktop, wide), log = read_frames(tmp_path, frames)
    assert (phone["wider"], desktop["wider"]) == (0, 0)
    assert (phone["cut"], phone["outside"]) == (0, 0)
    assert phone["pictures"] == 2 * 2 and phone["text"] >= 12.8
    assert wide["wider"] > 0, "the planted fault is seen"
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []


def test_the_page_by_itself_is_silent_and_asks_for_nothing(
    site: Path, tmp_path: Path
) -> None:
    """Its own script runs under its own policy; a net log has every request that the browser makes."""
    log = tmp_path / "net.json"
    run = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            f"--user-data-dir={tmp_path}/profile",
            f"--log-net-log={log}",
            (site / "index.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert "13 of 13 entries are shown" in run.stdout
    assert [line for line in run.stderr.splitlines() if "CONSOLE" in line] == []
    page = (site / "index.html").read_text()
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)
    assert "alert(1)" in page and "<img" not in page
    if log.is_file():
        ours = (site / "index.html").as_uri()
        asked = set(re.findall(r'"url":"((?:https?|file)://[^"]*)"', log.read_text()))
        assert {url for url in asked if url.startswith("file:")} <= {ours}


def test_filters_write_their_state_into_the_url(site: Path, tmp_path: Path) -> None:
    found = opened(site, tmp_path, CHOOSE + LOOK)
    assert found["rows"] == ["slow"] and found["hash"] == "#find=slow"
    assert found["shown"] == "1 of 13 entries are shown"


def test_filters_read_their_state_from_the_url(site: Path, tmp_path: Path) -> None:
    found = opened(site, tmp_path, LOOK, "#find=night-")
    assert len(found["rows"]) == 9 and found["form"] is False
    assert found["images"] == 0


def test_the_table_works_without_the_script(site: Path, tmp_path: Path) -> None:
    page = (site / "index.html").read_text()
    bare = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert bare.count("<tr data-entry") == 13
    assert 'id="filters" class="filters" aria-label="Filters" hidden' in bare


@pytest.mark.skipif(shutil.which("node") is None, reason="no node is installed")
def test_the_script_is_valid(tmp_path: Path) -> None:
    from deep500.board.filters import SCRIPT

    file = tmp_path / "filters.js"
    file.write_text(SCRIPT)
    subprocess.run(["node", "--check", file], check=True, timeout=60)
