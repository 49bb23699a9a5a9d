"""write a report of a bundle: one HTML page with pictures, Markdown, the terminal's text, or its blocks as JSON"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import visible
from . import options
from .output import beside, json_text, open_page, print_json, write_page

if TYPE_CHECKING:
    from ..contracts.result import Record
    from ..reports.blocks import Report


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser)
    parser.add_argument(
        "--format",
        choices=("html", "markdown", "terminal", "json"),
        default="html",
        help="the form of the page (html)",
    )
    options.browser(parser)
    parser.add_argument(
        "--figures",
        type=Path,
        default=None,
        metavar="DIR",
        help="a new folder for a paper: pictures (SVG, PDF, PNG) with their data, tables, sentences, appendix",
    )
    options.out(parser, "the page (html: beside the bundle; others: standard output)")


def call(args: argparse.Namespace) -> int:
    from ..bundle.records.loading import load, report_of
    from ..bundle.records.recording import find_bundle

    bundle = find_bundle(args.bundle)
    record = load(bundle)
    report = report_of(record)
    text = _rendered(report, args.format)
    figures = _figures(record, report, args.figures) if args.figures else []
    out = args.out
    if not out and args.format == "html":
        out = beside(bundle)
    if out:
        write_page(out, text)
    if args.browser:
        open_page(out)
    if args.json:
        about = {
            "bundle": str(bundle),
            "verified": record.verified,
            "problems": list(record.problems),
            "report": str(out) if out else None,
            "text": None if out else text,
            "figures": [str(path) for path in figures],
        }
        print_json(about)
    else:
        _print(text, out, record.problems)
        if figures:
            print(f"figures: {len(figures)} files in {visible(str(args.figures))}")
    return 0 if record.verified else 1


def _figures(record: "Record", report: "Report", folder: Path) -> list[Path]:
    """Write what a paper takes; a picture that cannot be drawn is one line."""
    from ..bundle.records.loading import one_line
    from ..papers.files import write_figures

    with one_line(f"{record.bundle} cannot be drawn, see `d5 verify`"):
        return write_figures(record, report, folder)


def _print(text: str, out: Path | None, problems: Sequence[str]) -> None:
    from ..reports.blocks import unverified
    from ..reports.terminal import blocks_text

    if out is None:
        print(text)
        return
    if problems:
        print(blocks_text(unverified(problems)) + "\n")
    print(f"report: {visible(str(out))}")


def _rendered(report: "Report", format: str) -> str:
    from ..bundle.records.loading import rendered
    from ..reports.data import to_json
    from ..reports.html import html
    from ..reports.markdown import markdown
    from ..reports.terminal import terminal

    if format == "json":
        return json_text(to_json(report))
    renderers: dict[str, Callable[[Report], str]] = {
        "html": html,
        "markdown": markdown,
        "terminal": terminal,
    }
    return rendered(renderers[format], report)
