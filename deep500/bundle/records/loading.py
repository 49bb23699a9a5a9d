"""Loads a bundle from disk as a record: checks it, and derives every number from the raw blocks."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from ...contracts.result import (
    Record,
    ResultKind,
    derived_document,
    derived_numbers,
    result_kind,
)
from ...errors import Deep500Error
from ...reports.blocks import Report
from ...reports.text import clean
from .. import Bundle, read
from .dating import bundle_dates, date_problems, future_remark
from .ledger_answer import ledger_answer

# the mathematical library of another machine may differ in the last bits
TOLERANCE = 1e-9
MOST_DIFFERENCES = 100  # the most differences that are listed
HOSTILE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def load(path: str | Path) -> Record:
    """Read a bundle of any kind; raises a Deep500Error if it cannot be shown."""
    bundle = read(path)
    record = record_of(bundle)
    problems = (*record.problems, *ledger_answer(bundle).problems)
    return replace(record, problems=problems)


def record_of(bundle: Bundle) -> Record:
    """The record of a bundle; recorded numbers that do not follow from its blocks are listed in its problems."""
    kind = result_kind(bundle.kind)
    try:
        with one_line("its samples do not give the numbers of its plan"):
            plan = kind.check_plan(bundle.documents.get("plan.json"))
            blocks = kind.check_blocks(plan, bundle.blocks)
            derived = derived_numbers(kind, plan, blocks)
    except Deep500Error as error:
        if bundle.problems:
            first_problem = bundle.problems[0]
            raise Deep500Error(
                f"{bundle.path} does not verify: {first_problem} (see all with `d5 verify`)"
            ) from None
        raise Deep500Error(f"{bundle.path}: {error}") from None
    problems = list(bundle.problems)
    environment = bundle.documents.get("environment.json")
    if not isinstance(environment, dict):
        environment = {}
        problems.append("environment.json: there is none that can be used")
    if bundle.finished and not problems:
        with one_line("its samples do not give the numbers of its plan"):
            problems += _false_claims(kind, bundle, derived)
        problems += kind.check_files(blocks, bundle.files)
    sensors = bundle.documents.get("sensors.json")
    if not isinstance(sensors, dict):
        sensors = None
    record = Record(
        kind,
        plan,
        blocks,
        derived,
        environment,
        bundle.finished,
        str(bundle.path),
        bundle.hash,
        tuple(problems),
        sensors,
    )
    if problems or not bundle.created:
        return record
    return _examined(record, bundle)


def _examined(record: Record, bundle: Bundle) -> Record:
    """The record of an intact bundle, with what contradicts what in it, and what is worth a remark."""
    kind, dates = record.kind, bundle_dates(bundle)
    problems = [
        *date_problems(bundle),
        *_listed(lambda: kind.contradictions(record, dates)),
    ]
    remarks = [
        *_procedure_remark(kind, bundle),
        *_listed(lambda: kind.remarks(record, dates)),
        *future_remark(bundle, time.time()),
    ]
    return replace(record, problems=tuple(problems), remarks=tuple(remarks))


def _listed(sentences: Callable[[], Iterable[str]]) -> list[str]:
    """The first sentences; if what they are about has a form that nobody can read, that is the only one."""
    try:
        with one_line("its plan and its blocks do not fit together"):
            found = list(islice(sentences(), MOST_DIFFERENCES))
    except Deep500Error as error:
        found = [str(error)]
    return [clean(sentence) for sentence in found]


def report_of(record: Record) -> Report:
    """The report of a record; raises a Deep500Error of one line if its contents cannot be shown."""
    with one_line(f"{record.bundle} cannot be shown, see `d5 verify`"):
        return record.report()


def rendered(renderer: Callable[[Report], str], report: Report) -> str:
    """A report in one format; raises a Deep500Error of one line if its numbers cannot be drawn."""
    title = clean(report.title)[:60]
    with one_line(f"{title} cannot be drawn, see `d5 verify`"):
        return renderer(report)


def as_json(record: Record) -> dict[str, Any]:
    """A record as `--json` prints it."""
    with one_line(f"{record.bundle} cannot be shown, see `d5 verify`"):
        content = record.to_json()
        # a malicious sample may lead to an infinity
        json.dumps(content, allow_nan=False)
        return content


@contextmanager
def one_line(problem: str) -> Iterator[None]:
    """Turn any error that an untrusted file causes into a Deep500Error of one line without control characters."""
    try:
        yield
    except Deep500Error as error:
        raise Deep500Error(clean(error)) from None
    except HOSTILE as error:
        kind, text = type(error).__name__, clean(error)[:100]
        raise Deep500Error(f"{problem} ({kind}: {text})") from None


def _false_claims(kind: ResultKind, bundle: Bundle, numbers: object) -> list[str]:
    """The differences between derived.json and the numbers that follow from the blocks."""
    recorded = bundle.documents.get("derived.json")
    if not isinstance(recorded, dict):
        return ["derived.json: missing"]
    if is_of_earlier_procedure(kind, recorded):
        return []
    procedure = recorded.get("procedure")
    if procedure != kind.procedure:
        return [
            f"derived.json: procedure {str(procedure)[:40]}, this version computes {kind.procedure}: upgrade "
            "deep500-bench"
        ]
    derived = None
    if numbers is not None:
        derived = derived_document(kind, numbers)
    all_differences = _differences(recorded, derived, "")
    differences = list(islice(all_differences, MOST_DIFFERENCES + 1))
    if len(differences) > MOST_DIFFERENCES:
        differences[MOST_DIFFERENCES:] = ["and more"]
    return [f"derived.json: {difference}" for difference in differences]


def is_of_earlier_procedure(kind: ResultKind, derived: Mapping[str, Any]) -> bool:
    """Whether recorded numbers were computed by an earlier version of the procedure, which is not kept."""
    procedure = derived.get("procedure")
    return type(procedure) is int and 0 < procedure < kind.procedure


def _procedure_remark(kind: ResultKind, bundle: Bundle) -> list[str]:
    """That the numbers of derived.json were not compared, and those of the samples are shown."""
    recorded = bundle.documents.get("derived.json")
    if not isinstance(recorded, dict):
        return []
    if not is_of_earlier_procedure(kind, recorded):
        return []
    return [
        f"derived.json has the numbers of procedure {recorded['procedure']}, which are not compared: all that is "
        f"shown is computed from the samples by procedure {kind.procedure}"
    ]


def _differences(recorded: object, computed: object, path: str) -> Iterator[str]:
    """The differences between two JSON values; numbers may differ in the last few bits."""
    if isinstance(recorded, dict) and isinstance(computed, dict):
        for key in sorted(recorded.keys() | computed.keys()):
            key_path = f"{path}/{key}"
            if key not in recorded:
                yield f"{key_path} is missing"
            elif key not in computed:
                yield f"{key_path} is not derived from the samples"
            else:
                yield from _differences(recorded[key], computed[key], key_path)
    elif _same_length(recorded, computed):
        for i, (a, b) in enumerate(zip(recorded, computed, strict=True)):  # type: ignore[call-overload]
            yield from _differences(a, b, f"{path}/{i}")
    elif not _equal(recorded, computed):
        recorded_text, computed_text = str(recorded)[:60], str(computed)[:60]
        yield f"{path} says {recorded_text}, the samples say {computed_text}"


def _same_length(a: object, b: object) -> bool:
    if not isinstance(a, list) or not isinstance(b, list | tuple):
        return False
    return len(a) == len(b)


def _equal(a: object, b: object) -> bool:
    if type(a) in (int, float) and type(b) in (int, float):
        try:
            return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-15)  # type: ignore[arg-type]
        except OverflowError:  # an integer beyond the range of floats
            return a == b
    return type(a) is type(b) and a == b
