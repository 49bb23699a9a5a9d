"""write a report of a bundle: one HTML page with pictures, Markdown, the terminal's text, or its blocks as JSON"""

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import options
from .output import beside, print_json, write_page

if TYPE_CHECKING:
    from ..reports.blocks import Report


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser)
    parser.add_argument(
        "--format",
        choices=("html", "markdown", "terminal", "json"),
        default="html",
        help="the form of the page (html)",
    )
    options.out(parser, "the page (html: beside the bundle; others: standard output)")


def call(args: argparse.Namespace) -> int:
    from ..evidence.loading import load, report_of
    from ..evidence.recording import find_bundle

    bundle = find_bundle(args.bundle)
    text = _rendered(report_of(load(bundle)), args.format)
    out = args.out or (beside(bundle) if args.format == "html" else None)
    if out:
        write_page(out, text)
    if args.json:
        place = str(out) if out else None
        print_json({"bundle": str(bundle), "report": place, "text": None if out else text})
    else:
        print(f"report: {out}" if out else text)
    return 0


def _rendered(report: "Report", format: str) -> str:
    from ..evidence.loading import rendered
    from ..reports.data import to_json
    from ..reports.html import html
    from ..reports.markdown import markdown
    from ..reports.terminal import terminal

    if format == "json":
        return json.dumps(to_json(report), indent=1, ensure_ascii=False)
    renderers: dict[str, Callable[[Report], str]] = {
        "html": html,
        "markdown": markdown,
        "terminal": terminal,
    }
    return rendered(renderers[format], report)
