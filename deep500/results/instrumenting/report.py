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
from ...reports.text import Text, clean, plain
from .pictures import script_pictures

PARTS = {
    "steps": "in steps, data included",
    "evaluation": "from the last step before an evaluation to its end",
    "outside": "before the first step of a stretch",
    "recording": "writing this bundle",
}
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
    blocks: list[Block] = [
        _banner(record, derived),
        Problems(problems),
        Section("Qualities", [_qualities(derived)], quiet=True),
        Section("Values of the steps", [_values(derived)]),
        Section("Where the time of the steps went", [_regions(derived)]),
        Section("Where the whole time went", [_parts(derived)]),
        Bullets(_notes(record, derived)),
        PageOnly([Section("Pictures", [Figures(lambda: script_pictures(record))])]),
        Section("What was run", [_plan(record), Sentence(ONE_RUN)]),
        environment_section(record.environment),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 script", clean(record.plan["name"]), blocks)


def step_time(facts: Mapping[str, Any]) -> Text:
    """Median and interval of a time."""
    return measured(facts["median"], facts["low"], facts["high"], facts["n"])


def _banner(record: Record, derived: Mapping[str, Any]) -> Banner:
    name = clean(record.plan["name"])
    headline: list[Text] = [f"{name}: {derived['steps']} steps"]
    facts = derived["step_seconds"]
    if facts["low"] is not None:
        headline += [", each ", step_time(facts)]
    figures: list[tuple[Text, Text]] = []
    if derived["examples_per_second"]:
        figures.append(("examples per second", number(derived["examples_per_second"])))
    for quality in derived["qualities"]:
        label = f"{clean(quality['split'])} {clean(quality['name'])}"
        figures.append((label, number(quality["last"])))
    return Banner(headline, headline, {}, figures)


def _qualities(derived: Mapping[str, Any]) -> Table:
    rows: list[list[Text]] = []
    for quality in derived["qualities"]:
        names = [clean(quality["split"]), clean(quality["name"])]
        values = [number(quality["last"]), number(quality["best"]), str(quality["n"])]
        rows.append([*names, *values])
    return Table(["split", "quality", "last", "best", "evaluations"], rows, "llrrr")


def _values(derived: Mapping[str, Any]) -> Table:
    rows: list[list[Text]] = []
    for name, course in derived["values"].items():
        ends = [number(course[key]) for key in ("first", "last", "least", "most")]
        rows.append([clean(name), *ends, str(course["n"]), _not_finite(course)])
    headers = [
        "value",
        "first",
        "last",
        "least",
        "most",
        "steps",
        "not finite from step",
    ]
    return Table(headers, rows, "lrrrrrr")


def _not_finite(course: Mapping[str, Any]) -> str:
    return NOTHING if course["not_finite_at"] is None else str(course["not_finite_at"])


def _regions(derived: Mapping[str, Any]) -> Table:
    rows: list[list[Text]] = []
    for region in derived["regions"]:
        share = percent(region["share"], 3)
        rows.append(
            [clean(region["path"]), seconds(region["total"]), share, step_time(region)]
        )
    return Table(["region", "total", "of all steps", "per step"], rows, "lrrl")


def _parts(derived: Mapping[str, Any]) -> Table:
    parts = derived["parts"]
    whole = parts["whole"]
    rows: list[list[Text]] = []
    for name, meaning in PARTS.items():
        share = percent(parts[name] / whole, 3) if whole else NOTHING
        rows.append([name, seconds(parts[name]), share, meaning])
    if whole:
        known = sum(parts[name] for name in PARTS)
        rest = whole - known
        rows.append(
            ["rest", seconds(rest), percent(rest / whole, 3), "after the last of these"]
        )
    return Table(["part", "seconds", "of the run", "what it is"], rows, "lrrt")


def _notes(record: Record, derived: Mapping[str, Any]) -> list[Text]:
    notes: list[Text] = [clean(note) for note in derived["step_seconds"]["notes"]]
    if not record.plan["wait"]:
        notes.append(QUEUED)
    return notes


def _plan(record: Record) -> Table:
    plan = record.plan
    seed = NOTHING if plan["seed"] is None else str(plan["seed"])
    seeded = ", ".join(clean(name) for name in plan["seeded"])
    rows: list[list[Text]] = [
        ["seed", seed],
        ["seeded by it", seeded or NOTHING],
        ["every step waits for its values", "yes" if plan["wait"] else "no"],
    ]
    for name, value in plan["settings"].items():
        rows.append([clean(name), plain(value)])
    return Table(["setting", "value"], rows, "lt")
