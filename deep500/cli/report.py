"""write a report of a bundle: one HTML page with pictures, Markdown, or the terminal's text"""

import argparse

from . import options
from .output import beside, print_json, write_page


def arguments(parser: argparse.ArgumentParser) -> None:
    options.bundle(parser)
    parser.add_argument(
        "--format",
        choices=("html", "markdown", "terminal"),
        default="html",
        help="the form of the page (html)",
    )
    options.out(parser, "the page (html: beside the bundle; others: standard output)")


def call(args: argparse.Namespace) -> int:
    from ..evidence.recording import find_bundle
    from ..reports import outcomes
    from ..reports.html import html
    from ..reports.loading import load
    from ..reports.markdown import markdown, terminal
    from ..reports.outcome_data import OutcomeData

    bundle = find_bundle(args.bundle)
    data = load(bundle)
    if isinstance(data, OutcomeData):
        text = outcomes.html(data) if args.format == "html" else outcomes.text(data)
    else:
        text = {"html": html, "markdown": markdown, "terminal": terminal}[args.format](data)
    out = args.out or (beside(bundle) if args.format == "html" else None)
    if out:
        write_page(out, text)
    if args.json:
        print_json(
            {
                "bundle": str(bundle),
                "report": str(out) if out else None,
                "text": None if out else text,
            }
        )
    else:
        print(f"report: {out}" if out else text)
    return 0
