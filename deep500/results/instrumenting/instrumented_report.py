"""The report of an instrumented script."""

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
from .numbers import (
    Course,
    QualityNumbers,
    ScriptNumbers,
    ScriptRecord,
    TimeSummary,
)
from .pictures import script_pictures

UNTIL_EVALUATED = "from the last step before an evaluation to its end"
NOT_A_NUMBER = "not a number"
QUEUED = (
    "Times are the host's. With an engine that works asynchronously (JAX, a GPU), a step ends when it is queued; "
    "`wait=True` makes each step wait for its values."
)
ONE_RUN = (
    "Intervals are of the steps of this one run; they say nothing about other runs."
)


def script_report(record: ScriptRecord) -> Report:
    """The blocks of the report."""
    derived = record.derived
    if not derived:
        raise Deep500Error(
            f"{record.bundle} holds no steps yet: nothing was recorded before it ended"
        )
    problems = [clean(derived.ended)] if derived.ended else []
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
    return Report("Deep500 script", clean(record.plan.name), blocks)


def step_time(time: TimeSummary) -> Text:
    """Median and interval of a time."""
    return measured(time.median, time.low, time.high, time.n)


def _banner(record: ScriptRecord, derived: ScriptNumbers) -> Banner:
    name = clean(record.plan.name)
    headline: list[Text] = [f"{name}: {counted(derived.steps, 'step')}"]
    time = derived.step_seconds
    if time.low is not None:
        headline += [", each ", step_time(time)]
    figures: list[tuple[Text, Text]] = []
    throughput = derived.examples_per_second
    if throughput:
        figures.append(("examples per second", number(throughput)))
    for quality in derived.qualities:
        split = clean(quality.split)
        name = clean(quality.name)
        figures.append((f"{split} {name}", _last(quality)))
    return Banner(headline, headline, {}, figures)


def _qualities(derived: ScriptNumbers) -> Table:
    rows = []
    for quality in derived.qualities:
        row = [
            clean(quality.split),
            clean(quality.name),
            _last(quality),
            number(quality.best),
            _evaluations(quality),
        ]
        rows.append(row)
    return Table(["split", "quality", "last", "best", "evaluations"], rows, "llrrr")


def _last(quality: QualityNumbers) -> Text:
    if quality.last is None:
        return NOT_A_NUMBER
    return number(quality.last)


def _evaluations(quality: QualityNumbers) -> str:
    if quality.not_finite:
        return f"{quality.n}, {quality.not_finite} of them {NOT_A_NUMBER}"
    return str(quality.n)


def _values(derived: ScriptNumbers) -> Table:
    rows = []
    for name, course in derived.values.items():
        row = [
            clean(name),
            number(course.first),
            number(course.last),
            number(course.least),
            number(course.most),
            str(course.n),
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


def _not_finite(course: Course) -> str:
    """The first step whose value was not finite, and how many there were."""
    if course.not_finite_at is None:
        return NOTHING
    return f"step {course.not_finite_at} ({course.not_finite} of {course.n})"


def _regions(derived: ScriptNumbers) -> Table:
    rows = []
    for region in derived.regions:
        row = [
            clean(region.path),
            seconds(region.time.total),
            percent(region.share, 3),
            step_time(region.time),
        ]
        rows.append(row)
    return Table(["region", "total", "of all steps", "per step"], rows, "lrrl")


def _parts(derived: ScriptNumbers) -> Table:
    """Where the time of the whole run went, by part."""
    parts = derived.parts
    times = {
        ("steps", "in steps, data included"): parts.steps,
        ("evaluation", UNTIL_EVALUATED): parts.evaluation,
        ("outside", "outside steps and evaluations"): parts.outside,
        ("recording", "writing this bundle"): parts.recording,
    }
    if parts.whole:
        rest = parts.whole - sum(times.values())
        times["rest", "after the last of these"] = rest
    rows = []
    for (name, meaning), time in times.items():
        rows.append(_part_row(name, time, parts.whole, meaning))
    return Table(["part", "seconds", "of the run", "what it is"], rows, "lrrt")


def _part_row(name: str, time: float, whole: float | None, meaning: str) -> list[Text]:
    share = NOTHING
    if whole:
        share = percent(time / whole, 3)
    return [name, seconds(time), share, meaning]


def _notes(record: ScriptRecord, derived: ScriptNumbers) -> list[Text]:
    notes: list[Text] = [clean(note) for note in derived.step_seconds.notes]
    if not record.plan.wait:
        notes.append(QUEUED)
    return notes


def _plan(record: ScriptRecord) -> Table:
    plan = record.plan
    seeded = ", ".join(map(clean, plan.seeded))
    waits = "yes" if plan.wait else "no"
    rows = [
        ["seed", NOTHING if plan.seed is None else str(plan.seed)],
        ["seeded by it", seeded or NOTHING],
        ["every step waits for its values", waits],
    ]
    for name, value in plan.settings.items():
        rows.append([clean(name), plain(value)])
    return Table(["setting", "value"], rows, "lt")
