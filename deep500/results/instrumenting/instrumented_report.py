"""The report of an instrumented script."""

from collections.abc import Mapping
from typing import Any

from ...contracts.result import Record
from ...errors import Deep500Error
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Figures,
    PageOnly,
    Problems,
    Report,
    Section,
    Sentence,
    Table,
)
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import NOTHING, measured, number, percent, seconds
from ...reports.text import Text, clean, counted, plain
from .pictures import script_pictures

Derived = Mapping[str, Any]  # what derived.json holds
PARTS = {
    "steps": "in steps, data included",
    "evaluation": "from the last step before an evaluation to its end",
    "outside": "outside steps and evaluations",
    "recording": "writing this bundle",
}
NOT_A_NUMBER = "not a number"
QUEUED = (
    "Times are the host's. With an engine that works asynchronously (JAX, a GPU), a step ends when it is queued; "
    "`wait=True` makes each step wait for its values."
)
ONE_RUN = (
    "Intervals are of the steps of this one run; they say nothing about other runs."
)


def script_report(record: Record) -> Report:
    """The blocks of the report."""
    derived = record.derived
    if not derived:
        raise Deep500Error(
            f"{record.bundle} holds no steps yet: nothing was recorded before it ended"
        )
    problems = [clean(derived["ended"])] if derived["ended"] else []
    pictures = Section("Pictures", [Figures(lambda: script_pictures(record))])
    blocks: list[Block] = [
        _banner(record, derived),
        Problems(problems),
        Section("Qualities", [_qualities(derived)], quiet=True),
        Section("Values of the steps", [_values(derived)]),
        Section("Where the time of the steps went", [_regions(derived)]),
        Section("Where the whole time went", [_parts(derived)]),
        Bullets(_notes(record, derived)),
        PageOnly([pictures]),
        Section("What was run", [_plan(record), Sentence(ONE_RUN)]),
        environment_section(record.environment),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 script", clean(record.plan["name"]), blocks)


def step_time(facts: Mapping[str, Any]) -> Text:
    """Median and interval of a time."""
    return measured(facts["median"], facts["low"], facts["high"], facts["n"])


def _banner(record: Record, derived: Derived) -> Banner:
    name = clean(record.plan["name"])
    headline: list[Text] = [f"{name}: {counted(derived['steps'], 'step')}"]
    facts = derived["step_seconds"]
    if facts["low"] is not None:
        headline += [", each ", step_time(facts)]
    figures: list[tuple[Text, Text]] = []
    throughput = derived["examples_per_second"]
    if throughput:
        figures.append(("examples per second", number(throughput)))
    for quality in derived["qualities"]:
        split = clean(quality["split"])
        name = clean(quality["name"])
        figures.append((f"{split} {name}", _last(quality)))
    return Banner(headline, headline, {}, figures)


def _qualities(derived: Derived) -> Table:
    rows = []
    for quality in derived["qualities"]:
        row = [
            clean(quality["split"]),
            clean(quality["name"]),
            _last(quality),
            number(quality["best"]),
            _evaluations(quality),
        ]
        rows.append(row)
    return Table(["split", "quality", "last", "best", "evaluations"], rows, "llrrr")


def _last(quality: Mapping[str, Any]) -> Text:
    if quality["last"] is None:
        return NOT_A_NUMBER
    return number(quality["last"])


def _evaluations(quality: Mapping[str, Any]) -> str:
    if quality["not_finite"]:
        return f"{quality['n']}, {quality['not_finite']} of them {NOT_A_NUMBER}"
    return str(quality["n"])


def _values(derived: Derived) -> Table:
    rows = []
    for name, course in derived["values"].items():
        row = [
            clean(name),
            number(course["first"]),
            number(course["last"]),
            number(course["least"]),
            number(course["most"]),
            str(course["n"]),
            _not_finite(course),
        ]
        rows.append(row)
    headers = [
        "value",
        "first",
        "last",
        "least",
        "most",
        "steps",
        "not finite",
    ]
    return Table(headers, rows, "lrrrrrr")


def _not_finite(course: Mapping[str, Any]) -> str:
    """The first step whose value was not finite, and how many there were."""
    if course["not_finite_at"] is None:
        return NOTHING
    return f"step {course['not_finite_at']} ({course['not_finite']} of {course['n']})"


def _or_nothing(value: object) -> str:
    """The value, or a dash in place of None."""
    if value is None:
        return NOTHING
    return str(value)


def _regions(derived: Derived) -> Table:
    rows = []
    for region in derived["regions"]:
        row = [
            clean(region["path"]),
            seconds(region["total"]),
            percent(region["share"], 3),
            step_time(region),
        ]
        rows.append(row)
    return Table(["region", "total", "of all steps", "per step"], rows, "lrrl")


def _parts(derived: Derived) -> Table:
    """Where the time of the whole run went, by part."""
    parts = derived["parts"]
    whole = parts["whole"]
    rows = []
    for name, meaning in PARTS.items():
        rows.append(_part_row(name, parts[name], whole, meaning))
    if whole:
        remaining = whole - sum(parts[name] for name in PARTS)
        rows.append(_part_row("rest", remaining, whole, "after the last of these"))
    return Table(["part", "seconds", "of the run", "what it is"], rows, "lrrt")


def _part_row(name: str, time: float, whole: float | None, meaning: str) -> list[Text]:
    share = NOTHING
    if whole:
        share = percent(time / whole, 3)
    return [name, seconds(time), share, meaning]


def _notes(record: Record, derived: Derived) -> list[Text]:
    notes: list[Text] = [clean(note) for note in derived["step_seconds"]["notes"]]
    if not record.plan["wait"]:
        notes.append(QUEUED)
    return notes


def _plan(record: Record) -> Table:
    plan = record.plan
    seeded = ", ".join(map(clean, plan["seeded"]))
    waits = "yes" if plan["wait"] else "no"
    rows = [
        ["seed", _or_nothing(plan["seed"])],
        ["seeded by it", seeded or NOTHING],
        ["every step waits for its values", waits],
    ]
    for name, value in plan["settings"].items():
        rows.append([clean(name), plain(value)])
    return Table(["setting", "value"], rows, "lt")
