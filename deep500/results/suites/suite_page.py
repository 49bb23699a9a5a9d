"""The report of a suite: every measurement with its interval, and the verdicts that were given inside of tests."""

from collections.abc import Sequence

from ...contracts.result import Record
from ...errors import Deep500Error
from ...measure.numbers import EntryComparison, EntryNumbers
from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    PageOnly,
    Problems,
    Report,
    Section,
    Table,
)
from ...reports.surroundings import environment_section, raw_data
from ...reports.tables import NOTHING, measured, ratio
from ...reports.text import Code, Text, clean, counted, verdict_of
from .contents import (
    SuiteBlock,
    SuiteMeasurement,
    SuiteNumbers,
    SuitePlan,
)

SuiteRecord = Record[SuitePlan, SuiteBlock, SuiteNumbers]
UNFINISHED = "unfinished: the run was ended before its time"
MOST_NOTES = 30


def suite_report(record: SuiteRecord) -> Report:
    """The page of one run of a suite."""
    if record.derived is None:
        raise Deep500Error(
            f"{record.bundle} holds no samples yet: nothing was measured before it ended"
        )
    measurements = record.derived.measurements
    headline = f"{counted(len(measurements), 'measurement')} of a test suite"
    blocks: list[Block] = [
        Banner(headline + ".", headline),
        Problems([] if record.finished else [UNFINISHED]),
        Section("Times", [times_table(measurements)], quiet=True),
        Section("Comparisons", [comparisons_table(measurements)], quiet=True),
        Section("Notes and warnings", [Bullets(notes(measurements))], quiet=True),
        PageOnly([environment_section(record.environment, record.sensors)]),
        raw_data(record.bundle, record.hash),
    ]
    return Report("Deep500 test suite", headline, blocks)


def times_table(measurements: Sequence[SuiteMeasurement]) -> Table:
    """One row per timed function."""
    rows: list[list[Text]] = []
    has_group = any(measurement.group for measurement in measurements)
    for measurement in measurements:
        for entry in measurement.numbers.entries:
            row: list[Text] = [entry_label(measurement, entry)]
            if has_group:
                row.append(clean(measurement.group or ""))
            row += [median_of(entry), str(entry.processes)]
            rows.append(row)
    group = ["group"] if has_group else []
    headers = ["measurement", *group, "median [95 % interval], n", "processes"]
    return Table(headers, rows, "l" * len(headers[:-1]) + "r")


def entry_label(measurement: SuiteMeasurement, entry: EntryNumbers) -> Text:
    """The measurement, and which of its entries, if it has several."""
    name = Code(clean(measurement.name))
    if len(measurement.numbers.entries) == 1:
        return name
    return [name, ": ", Code(clean(entry.name))]


def median_of(entry: EntryNumbers) -> Text:
    """The median time of a call with its interval."""
    return measured(entry.median, entry.low, entry.high, entry.n, entry.level)


def comparisons_table(measurements: Sequence[SuiteMeasurement]) -> Table:
    """The verdicts on functions that one test timed side by side."""
    rows: list[list[Text]] = []
    for measurement in measurements:
        for comparison in measurement.numbers.comparisons:
            rows.append(_comparison_row(measurement.name, comparison))
    return Table(["measurement", "base", "compared", "ratio", "it is"], rows)


def _comparison_row(name: str, c: EntryComparison) -> list[Text]:
    figure: Text = NOTHING
    if c.ratio is not None:
        figure = ratio(c.ratio, c.low, c.high, c.n, c.level)
    base, other = Code(clean(c.base)), Code(clean(c.other))
    return [Code(clean(name)), base, other, figure, verdict_of(c.verdict)]


def notes(measurements: Sequence[SuiteMeasurement]) -> list[Text]:
    """The notes on each measurement, those that several have only once."""
    names: dict[str, list[str]] = {}
    for measurement in measurements:
        numbers = measurement.numbers
        own = [note for entry in numbers.entries for note in entry.notes]
        own += [note for each in numbers.comparisons for note in each.notes]
        for note in dict.fromkeys([*own, *numbers.notes]):
            names.setdefault(note, []).append(measurement.name)
    lines: list[Text] = []
    for note, who in list(names.items())[:MOST_NOTES]:
        subject = clean(who[0]) if len(who) == 1 else f"{len(who)} measurements"
        lines.append(f"{subject}: {clean(note)}")
    return lines
