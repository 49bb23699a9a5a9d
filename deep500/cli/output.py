"""What a verb prints of a bundle: tables for people, JSON for programs."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Deep500Error

if TYPE_CHECKING:
    from ..reports.data import ReportData
    from ..reports.outcome_data import OutcomeData


def print_json(value: object) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def write_page(path: Path, text: str) -> Path:
    """Write a report, or say in one line why not."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Deep500Error(f"cannot write {path}: {error.strerror}") from None
    return path


def beside(bundle: Path) -> Path:
    """Where the page of a bundle goes: inside, it would not be part of what the hashes bind."""
    bundle = bundle.absolute()
    return bundle.with_name(bundle.name + ".html")


def say(
    args: argparse.Namespace, data: "ReportData | OutcomeData", page: Path | None = None
) -> None:
    """Print a bundle's result."""
    if args.json:
        print_json(as_json(data) | ({"report": str(page)} if page else {}))
        return
    from ..reports.markdown import terminal
    from ..reports.outcome_data import OutcomeData
    from ..reports.outcomes import text

    print(text(data) if isinstance(data, OutcomeData) else terminal(data))
    if page:
        print(f"report: {page}")


def as_json(data: "ReportData | OutcomeData") -> dict:
    """Every entry with its own verdicts, or every metric, and what is said of the run as a whole."""
    from ..reports.outcome_data import OutcomeData

    if isinstance(data, OutcomeData):
        return {
            "bundle": data.bundle,
            "hash": data.hash,
            "finished": data.finished,
            "problems": list(data.problems),
            **(data.derived or {}),
        }
    derived = data.derived
    entries = [
        entry
        | {
            "warmup_cut": entry["warmup"]["cut"],
            "verdicts": [
                {"against": c["base"]} | {k: c[k] for k in ("verdict", "ratio", "low", "high")}
                for c in derived["comparisons"]
                if c["other"] == entry["name"]
            ],
        }
        for entry in derived["entries"]
    ]
    return {"bundle": str(data.bundle), "hash": data.hash, **derived, "entries": entries}
