"""A board of 100 bundles: how long it takes to build, whether two builds are the same bytes, and what a browser says.

    npm install axe-core
    python benchmarks/board_of_100.py --axe node_modules/axe-core/axe.min.js

Every page of the site is opened in headless Chromium at 390 and 1200 pixels: sideways scrolling, messages in the
console, requests that leave the page, and violations that axe-core finds.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from html import escape, unescape
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.board.entries import date, forger, rename_machine  # noqa: E402
from tests.results.test_browser import BROWSER, FLAGS  # noqa: E402

WIDTHS = (390, 1200)
RUN_AXE = """addEventListener("load", () => setTimeout(async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  const wider = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  parent.postMessage(JSON.stringify({ wider, violations: found.violations.map(
    v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 120)]) }), "*");
}, 200))"""
COLLECT = """const told = []; addEventListener("message", e => { told.push(JSON.parse(e.data));
  if (told.length == TOTAL) document.body.textContent = JSON.stringify(told); });"""


def entries(folder: Path) -> None:
    """Three leagues (two machines, a series of 40 nights), in the form that `d5 run` writes."""
    for number in range(35):
        rate, accuracy = 1 + number / 8, 70 + number * 37 % 25
        forger(rate, accuracy, 0.02).seal(folder / f"team-{number:02}")
    for number in range(25):
        entry = forger(1 + number / 9, 80.0, 0.02)
        rename_machine(entry, "An older processor")
        entry.seal(folder / f"older-{number:02}")
    for day in range(40):
        entry = forger(1.0 if day < 20 else 1.2, 80.0, 0.005 + day / 1e5)
        entry.plan["recipe"]["mutable"]["optimizer_args"] = [0.1]
        entry.rehash()
        date(entry, day)
        entry.seal(folder / f"night-{day:02}")


def build(folder: Path, site: Path) -> float:
    begin = time.perf_counter()
    command = ["board", str(folder), "-o", str(site), "--metric", "Throughput"]
    subprocess.run(
        [sys.executable, "-m", "deep500.cli", *command], check=True, capture_output=True
    )
    return time.perf_counter() - begin


def contents(site: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(site)): path.read_bytes()
        for path in site.rglob("*")
        if path.is_file()
    }


def with_axe(page: str, axe: str) -> str:
    """The page without its policy, and with axe-core at its end."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    return page.replace(
        "</body>", f"<script>{axe}</script><script>{RUN_AXE}</script></body>"
    )


def seen(pages: list[str], folder: Path) -> list[dict[str, object]]:
    """What axe-core and the layout say of pages in frames of both widths."""
    frames = "".join(
        f'<iframe width="{width}" height="800" srcdoc="{escape(page)}"></iframe>'
        for page in pages
        for width in WIDTHS
    )
    collect = COLLECT.replace("TOTAL", str(len(pages) * len(WIDTHS)))
    file = folder / "frames.html"
    file.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><script>{collect}</script>{frames}"
    )
    flags = [flag for flag in FLAGS if not flag.startswith("--virtual-time")]
    run = subprocess.run(
        [
            str(BROWSER),
            *flags,
            "--virtual-time-budget=60000",
            f"--user-data-dir={folder}/profile",
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = re.search(r"<body>(\[.*\])</body>", run.stdout, re.S)
    if not found:
        raise SystemExit(f"the browser said nothing: {run.stderr[-500:]}")
    told: list[dict[str, object]] = json.loads(unescape(found[1]))
    return told


def by_itself(page: Path, folder: Path) -> tuple[list[str], list[str]]:
    """Lines in the console, and addresses other than the page that the browser asks for."""
    log = folder / "net.json"
    log.unlink(missing_ok=True)
    run = subprocess.run(
        [
            str(BROWSER),
            *FLAGS,
            f"--user-data-dir={folder}/other",
            f"--log-net-log={log}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=100,
    )
    console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    text = log.read_text() if log.is_file() else ""
    asked = set(re.findall(r'"url":"((?:https?|file|data)://?[^"]*)"', text))
    return console, sorted(asked - {page.as_uri()})


def _address(url: str) -> str:
    return url.partition("?")[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--folder", type=Path, help="where to leave the site")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        entries(place / "entries")
        first_time = build(place / "entries", place / "site")
        # the folder with its log of entries, elsewhere
        shutil.copytree(place / "entries", place / "elsewhere" / "entries")
        again = build(place / "elsewhere" / "entries", place / "again")
        print(f"100 bundles: built in {first_time:.1f} and {again:.1f} s")
        first, second = contents(place / "site"), contents(place / "again")
        print(f"two builds are the same bytes: {first == second} ({len(first)} files)")
        if args.folder:
            shutil.copytree(place / "site", args.folder)
        if BROWSER is None:
            return print("no Chromium is installed")
        index = place / "site" / "index.html"
        empty = place / "empty.html"
        empty.write_text("<!DOCTYPE html><title>nothing</title>")
        _, own = by_itself(empty, place)  # what Chromium asks for by itself
        console, asked = by_itself(index, place)
        asked = sorted(
            {_address(url) for url in asked} - {_address(url) for url in own}
        )
        print(f"console: {len(console)} lines; other addresses asked for: {asked}")
        if not args.axe:
            return None
        axe = args.axe.read_text()
        reports = sorted((place / "site").rglob("*.html"))
        chosen = [index, *[path for path in reports if path != index][:3]]
        told = seen([with_axe(path.read_text(), axe) for path in chosen], place)
        wider = [each["wider"] for each in told]
        print(f"{len(chosen)} pages at {WIDTHS}: sideways scrolling {wider} pixels")
        violations: Counter[str] = Counter()
        for each in told:
            for identity, count, example in each["violations"]:  # type: ignore[attr-defined]
                violations[f"{identity}: {example}"] += count
        print(
            f"axe-core: {violations.total()} violations {dict(violations.most_common(8))}"
        )
    return None


if __name__ == "__main__":
    main()
