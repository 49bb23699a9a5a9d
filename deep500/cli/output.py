"""What a verb prints of a bundle: tables for people, JSON for programs."""

import argparse
import json
from pathlib import Path

from ..reports.data import ReportData


def print_json(value: object) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def say(args: argparse.Namespace, data: ReportData, page: Path | None = None) -> None:
    """Print a bundle's result."""
    if args.json:
        print_json(as_json(data) | ({"report": str(page)} if page else {}))
        return
    from ..reports.markdown import terminal
    print(terminal(data))
    if page:
        print(f"report: {page}")


def as_json(data: ReportData) -> dict:
    """Every entry with its own verdicts, and what is said of the run as a whole."""
    derived = data.derived
    entries = [entry | {"warmup_cut": entry["warmup"]["cut"],
                        "verdicts": [{"against": c["base"]} | {k: c[k] for k in ("verdict", "ratio", "low", "high")}
                                     for c in derived["comparisons"] if c["other"] == entry["name"]]}
               for entry in derived["entries"]]
    return {"bundle": str(data.bundle), "hash": data.hash, **derived, "entries": entries}
