"""Prints the result of a verb: tables for people, JSON for programs."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, HiddenCharacters, visible

if TYPE_CHECKING:
    from ..contracts.result import Record
    from ..reports.blocks import Report

_ESCAPES = HiddenCharacters(lambda character: json.dumps(character)[1:-1])


def print_json(value: object) -> None:
    print(json_text(value))


def json_text(value: object) -> str:
    """JSON that is also safe to print on a terminal, whose control characters are written as JSON escapes."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    lines = [line.translate(_ESCAPES) for line in text.split("\n")]
    return "\n".join(lines)


def write_page(path: Path, text: str) -> Path:
    """Write a report; raises a Deep500Error if the file cannot be written."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
    return path


def open_page(path: Path | None) -> None:
    """Show a page in the user's browser; raises a Deep500Error if there is no page or no browser."""
    import webbrowser

    if path is None:
        raise Deep500Error("--browser is for a page: add --out FILE, or --format html")
    try:
        opened = webbrowser.open(path.absolute().as_uri())
    except webbrowser.Error:
        opened = False
    if not opened:
        raise Deep500Error(f"no browser could be started: open {path} yourself")


def beside(bundle: str | Path | None) -> Path:
    """The path for the page of a bundle: beside its folder, since the hashes do not cover it."""
    path = Path(str(bundle)).absolute()
    return path.with_name(path.name + ".html")


def show_record(
    args: argparse.Namespace,
    record: "Record",
    page: bool = False,
    more: dict[str, Any] | None = None,
) -> int:
    """Print a result and, with `page`, write its page beside the bundle; returns the exit code of the verb."""
    from ..bundle.records.loading import as_json, rendered, report_of
    from ..reports.html import html
    from ..reports.markdown import markdown
    from ..reports.terminal import terminal

    renderer = markdown if getattr(args, "verbose", False) else terminal
    report = report_of(record)
    extra = dict(more or {})
    if page:
        path = write_page(beside(record.bundle), rendered(html, report))
        extra["report"] = str(path)
    if args.json:
        print_json(as_json(record) | extra)
    else:
        print(rendered(renderer, report))
        if page:
            print(f"report: {visible(extra['report'])}")
    return record.kind.exit_code(record)


def show_comparison(
    args: argparse.Namespace,
    report: "Report",
    data: dict[str, Any],
    page: Path | None,
) -> None:
    """Print a comparison or its data, and write it to a page if there is one to write."""
    from ..bundle.records.loading import rendered
    from ..reports.html import html
    from ..reports.terminal import terminal

    if page:
        write_page(page, rendered(html, report))
    if args.json:
        print_json(data | {"page": str(page) if page else None})
        return
    print(rendered(terminal, report))
    if page:
        print(f"page: {visible(str(page))}")
