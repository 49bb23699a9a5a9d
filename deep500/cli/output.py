"""What a verb prints of a result: tables for people, JSON for programs."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import Deep500Error, HiddenCharacters, visible

if TYPE_CHECKING:
    from ..contracts.result import Record

_ESCAPES = HiddenCharacters(lambda character: json.dumps(character)[1:-1])


def print_json(value: object) -> None:
    print(json_text(value))


def json_text(value: object) -> str:
    """JSON for programs that is also safe on a terminal: what would drive it is written as an escape of JSON."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    return "\n".join(line.translate(_ESCAPES) for line in text.split("\n"))


def write_page(path: Path, text: str) -> Path:
    """Write a report, or say in one line why not."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
    return path


def beside(bundle: str | Path | None) -> Path:
    """Where the page of a bundle goes: inside, it would not be part of what the hashes bind."""
    path = Path(str(bundle)).absolute()
    return path.with_name(path.name + ".html")


def show_record(
    args: argparse.Namespace,
    record: "Record",
    page: bool = False,
    more: dict[str, Any] | None = None,
) -> int:
    """Print a result, with its page beside the bundle if one is wanted; returns the exit code of the verb."""
    from ..evidence.loading import as_json, rendered, report_of
    from ..reports.html import html
    from ..reports.markdown import markdown
    from ..reports.terminal import terminal

    shown = markdown if getattr(args, "verbose", False) else terminal
    report = report_of(record)
    extra = dict(more or {})
    if page:
        extra["report"] = str(write_page(beside(record.bundle), rendered(html, report)))
    if args.json:
        print_json(as_json(record) | extra)
    else:
        print(rendered(shown, report))
        if page:
            print(f"report: {visible(extra['report'])}")
    return record.kind.exit_code(record)
