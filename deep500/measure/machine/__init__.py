"""The environment of a measurement, captured and never typed, after the checklist of SC'15's Rule 9."""

from __future__ import annotations

from pathlib import Path

from .advice import advice as advice
from .difference import Difference as Difference
from .difference import environment_difference as environment_difference
from .facts import CLASSES, Environment, Fact
from .host.files import Host, Unavailable
from .table import TABLE, Row
from .text import one_line, tidy

__all__ = [
    "Difference",
    "Environment",
    "Fact",
    "advice",
    "environment",
    "environment_difference",
]


def environment(_root: Path = Path("/")) -> Environment:
    """Capture the environment of this process; what cannot be read is a reason, never an error."""
    host = Host(_root)
    return Environment(
        {
            name: {row.fact: _capture(row, host) for row in TABLE[name]}
            for name in CLASSES
        }
    )


def _capture(row: Row, host: Host) -> Fact:
    try:
        return Fact(
            tidy(host.line(row.source) if row.probe is None else row.probe(host)),
            row.source,
        )
    except Unavailable as reason:
        return Fact(None, row.source, one_line(str(reason)))
    except (
        OSError,
        ValueError,
        LookupError,
        ArithmeticError,
    ) as odd:  # content that no probe expects
        return Fact(
            None,
            row.source,
            one_line(f"cannot be understood: {type(odd).__name__}: {odd}"),
        )
