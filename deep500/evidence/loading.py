"""From a bundle on disk to a record: read once, checked, and every number derived once from the raw blocks."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..bundle import Bundle, read
from ..contracts.result import Record, ResultKind, derived_numbers, result_kind
from ..errors import Deep500Error
from ..reports.blocks import Report
from ..reports.text import clean
from .testimony import testimony

TOLERANCE = 1e-9  # another machine's mathematical library may differ in the last bits
MOST_DIFFERENCES = 100  # that are listed
HOSTILE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def load(path: str | Path) -> Record:
    """Read a bundle of any kind; raises a Deep500Error for what cannot be shown."""
    found = read(path)
    record = record_of(found)
    return replace(record, problems=(*record.problems, *testimony(found).problems))


def record_of(found: Bundle) -> Record:
    """The record of a bundle that was read; what it claims without ground is listed in its problems."""
    kind = result_kind(found.kind)
    try:
        with one_line("its samples do not give the numbers of its plan"):
            plan = kind.check_plan(found.documents.get("plan.json"))
            blocks = kind.check_blocks(plan, found.blocks)
            derived = derived_numbers(kind, plan, blocks)
    except Deep500Error as error:
        if found.problems:
            raise Deep500Error(
                f"{found.path} does not verify: {found.problems[0]} (see all with `d5 verify`)"
            ) from None
        raise Deep500Error(f"{found.path}: {error}") from None
    problems = list(found.problems)
    environment = found.documents.get("environment.json")
    if not isinstance(environment, dict):
        environment = {}
        problems.append("environment.json: there is none that can be used")
    if found.finished and not problems:
        problems += _false_claims(kind, found, derived) + kind.check_files(
            blocks, found.files
        )
    sensors = found.documents.get("sensors.json")
    return Record(
        kind,
        plan,
        blocks,
        derived,
        environment,
        found.finished,
        str(found.path),
        found.hash,
        tuple(problems),
        sensors if isinstance(sensors, dict) else None,
    )


def report_of(record: Record) -> Report:
    """The report of a record, or one line where a file of anyone holds what no report can show."""
    with one_line(f"{record.bundle} cannot be shown, see `d5 verify`"):
        return record.report()


def rendered(renderer: Callable[[Report], str], report: Report) -> str:
    """A report in one format; pictures are drawn here, from numbers that may come from anyone."""
    with one_line(f"{clean(report.title)[:60]} cannot be drawn, see `d5 verify`"):
        return renderer(report)


def as_json(record: Record) -> dict[str, Any]:
    """What `--json` prints of a record."""
    with one_line(f"{record.bundle} cannot be shown, see `d5 verify`"):
        content = record.to_json()
        json.dumps(content, allow_nan=False)  # a hostile sample may lead to an infinity
        return content


@contextmanager
def one_line(what: str) -> Iterator[None]:
    """Whatever a file made by someone else causes becomes one line without control characters."""
    try:
        yield
    except Deep500Error as error:
        raise Deep500Error(clean(error)) from None
    except HOSTILE as error:
        raise Deep500Error(
            f"{what} ({type(error).__name__}: {clean(error)[:100]})"
        ) from None


def _false_claims(kind: ResultKind, found: Bundle, derived: object) -> list[str]:
    """Where derived.json is not what follows from the blocks."""
    recorded = found.documents.get("derived.json")
    if not isinstance(recorded, dict):
        return ["derived.json: missing"]
    procedure = recorded.get("procedure")
    if procedure != kind.procedure:
        return [
            f"derived.json: procedure {procedure!r}, this version computes {kind.procedure}"
        ]
    differences = list(
        islice(_differences(recorded, derived, ""), MOST_DIFFERENCES + 1)
    )
    if len(differences) > MOST_DIFFERENCES:
        differences[MOST_DIFFERENCES:] = ["and more"]
    return [f"derived.json: {what}" for what in differences]


def _differences(recorded: object, computed: object, where: str) -> Iterator[str]:
    """Where two JSON values part, numbers compared to the last few bits."""
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in sorted(recorded.keys() | computed.keys()):
            if key not in recorded:
                yield f"{where}/{key} is missing"
            elif key not in computed:
                yield f"{where}/{key} is not derived from the samples"
            else:
                yield from _differences(recorded[key], computed[key], f"{where}/{key}")
    elif _same_length(recorded, computed):
        for i, (a, b) in enumerate(zip(recorded, computed, strict=True)):  # type: ignore[call-overload]
            yield from _differences(a, b, f"{where}/{i}")
    elif not _equal(recorded, computed):
        yield f"{where} says {str(recorded)[:60]}, the samples say {str(computed)[:60]}"


def _same_length(a: object, b: object) -> bool:
    return isinstance(a, list) and isinstance(b, list | tuple) and len(a) == len(b)


def _equal(a: object, b: object) -> bool:
    if type(a) in (int, float) and type(b) in (int, float):
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-15)  # type: ignore[arg-type]
    return type(a) is type(b) and a == b
