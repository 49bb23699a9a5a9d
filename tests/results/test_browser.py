"""The page in a real browser: it fits its window, and the console stays silent."""

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path

import pytest

from . import bench_data as results
from .rendering import bundle_html, html

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
BEFORE = Path(__file__).parents[1] / "data" / "before" / "recipe-0.1.0.zip"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
    "--dump-dom",
)
# The frames are read from outside, as the page itself forbids scripts.
READ = """addEventListener("load", () => {
  const pages = [...document.querySelectorAll("iframe")].map(f => f.contentDocument.documentElement);
  document.body.textContent = JSON.stringify(pages.map(p => ({
    wider: p.scrollWidth - p.clientWidth, width: p.clientWidth, height: p.scrollHeight,
    cut: [...p.querySelectorAll(".picture svg")].filter(s => s.getBoundingClientRect().right >
      s.closest(".picture").getBoundingClientRect().right + 1).length,
    font: getComputedStyle(p.querySelector("body")).fontSize, pictures: p.querySelectorAll("svg").length,
    text: Math.min(...[...p.querySelectorAll("svg text")].filter(t => t.getBoundingClientRect().width).map(t => {
      const s = t.closest("svg"); return parseFloat(getComputedStyle(t).fontSize) *
        s.getBoundingClientRect().width / s.viewBox.baseVal.width; })),
    outside: [...p.querySelectorAll("svg text")].filter(t => { const a = t.getBoundingClientRect(),
      b = t.closest("svg").getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1; }).length})));
})"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What the browser says of pages in frames of 400 and 1200 pixels; the last frame holds a planted fault."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed: the page is not looked at in a browser")
    folder = tmp_path_factory.mktemp("browser")
    pages = [html(make()) for make in (results.two, results.awkward, results.hostile)]
    frames = [(page, width) for page in pages for width in (400, 1200)]
    broken = pages[0].replace("<h1>", '<h1 style="width: 90rem">')
    broken = broken.replace(
        "</style>", ".picture svg { min-width: 33rem !important; }</style>"
    )
    return read_frames(folder, [*frames, (broken, 400)])


def read_frames(folder, frames):
    """What the browser says of pages in frames of some widths, and its log."""
    file = folder / "frames.html"
    file.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><script>{READ}</script>"
        + "".join(
            f'<iframe width="{width}" height="800" srcdoc="{escape(page)}"></iframe>'
            for page, width in frames
        ),
        encoding="utf-8",
    )
    run = subprocess.run(
        [BROWSER, *FLAGS, f"--user-data-dir={folder}/profile", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=100,
    )
    found = re.search(r"<body>(.*)</body>", run.stdout, re.S)
    assert found, run.stderr[-500:]
    return json.loads(unescape(found[1])), run.stderr


def test_pictures_of_a_recipe_are_readable_on_a_phone(tmp_path):
    """Their text was 6 pixels high on a screen of 390; the page's small text is 12.8."""
    if BROWSER is None:
        pytest.skip("no Chromium is installed: the page is not looked at in a browser")
    page = bundle_html(BEFORE)
    wide_only = page.replace(".wide-screen { display: none; }", "")
    pages = [(page, 390), (page, 1200), (wide_only, 390)]
    (phone, desktop, broken), _ = read_frames(tmp_path, pages)
    assert phone["text"] >= 12.8 and desktop["text"] >= 12.8 > broken["text"]
    assert (phone["wider"], phone["cut"], phone["outside"]) == (0, 0, 0)


def test_no_page_is_wider_than_its_window(seen):
    *frames, broken = seen[0]
    assert len(frames) == 6
    assert [frame["wider"] for frame in frames] == [0] * 6
    assert broken["wider"] > 0


def test_a_phone_shows_whole_pictures(seen):
    """They were 528 pixels wide on a screen of 400, and cut off without a visible scroll bar."""
    *frames, broken = seen[0]
    assert [frame["cut"] for frame in frames] == [0] * 6
    assert broken["cut"] == 4


def test_the_styles_are_in_force(seen):
    assert all(frame["font"] == "16px" and frame["height"] > 1500 for frame in seen[0])
    assert [frame["pictures"] for frame in seen[0]] == [4] * 7


def test_all_text_of_the_pictures_lies_inside_them(seen):
    assert [frame["outside"] for frame in seen[0]] == [0] * 7


def test_the_console_is_silent(seen):
    assert [line for line in seen[1].splitlines() if "CONSOLE" in line] == []
