"""The environment of a measurement, captured and never typed, after the checklist of SC'15's Rule 9."""

from __future__ import annotations

from pathlib import Path

from .advice import advice as advice
from .difference import Difference as Difference
from .difference import environment_difference as environment_difference
from .facts import CLASSES, Environment, Fact
from .host.files import HostFiles, Unavailable
from .table import TABLE, FactRow
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
    """Capture the environment of this process; a fact that cannot be read holds the reason instead of a value."""
    host = HostFiles(_root)
    classes = {}
    for name in CLASSES:
        classes[name] = {row.fact: _capture(row, host) for row in TABLE[name]}
    return Environment(classes)


def _capture(row: FactRow, host: HostFiles) -> Fact:
    try:
        if row.probe is None:
            value: object = host.line(row.source)
        else:
            value = row.probe(host)
        return Fact(tidy(value), row.source)
    except Unavailable as error:
        reason = str(error)
    except (OSError, ValueError, LookupError, ArithmeticError) as error:
        # content that no probe expects
        kind = type(error).__name__
        reason = f"cannot be understood: {kind}: {error}"
    return Fact(None, row.source, one_line(reason))
