"""The report of a measurement: every block of it, for all formats."""

from collections.abc import Callable

from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Details,
    Figures,
    PageOnly,
    Picture,
    Problems,
    Report,
    Section,
    Sentence,
)
from ...reports.surroundings import environment_section, raw_data
from .answers import answer, status
from .cautions import cautions
from .contents import (
    comparisons,
    effects,
    entries,
    estimands,
    measured_things,
    quantiles,
    ratios,
)
from .data import ReportData
from .pictures import pictures
from .plan import plan_table
from .rates import operator_rates, remarks, work_rates


def bench_report(
    data: ReportData, with_samples: Callable[[], ReportData] | None = None
) -> Report:
    """The blocks; `with_samples` gives the data with the samples that pictures are drawn from."""

    def draw() -> list[Picture]:
        if with_samples is None:
            return pictures(data)
        return pictures(with_samples())

    numbers = {}
    quantile_ratios = ratios(data)
    if quantile_ratios.rows:
        numbers["ratios"] = Details("The same as numbers", [quantile_ratios])
    only_on_page = [
        Section("Pictures", [Figures(draw, numbers)]),
        Section("What was measured", [measured_things(data)]),
        Section("What was varied and how", [plan_table(data)]),
        environment_section(data.environment, data.sensors),
    ]
    blocks = [
        measurement_banner(data),
        Problems(data.problems),
        *_times(data),
        Section("Comparisons", _compared(data), quiet=True),
        Section("Notes and warnings", [Bullets(cautions(data))], quiet=True),
        _quantiles(data),
        PageOnly(only_on_page),
        raw_data(data.bundle, data.hash),
    ]
    return Report("Deep500 measurement", data.title, blocks)


def measurement_banner(data: ReportData) -> Banner:
    """What the measurement says, first of all."""
    said = answer(data)
    return Banner(
        sentence=said.sentence,
        headline=said.headline,
        verdicts=said.verdicts,
        figures=said.figures,
        status=status(data),
    )


def _times(data: ReportData) -> list[Block]:
    """Operators by their rates, with the plain times only on a page; everything else by its times first."""
    operators = operator_rates(data)
    times = Section("Times", [entries(data)], quiet=True)
    if not operators.rows:
        work = work_rates(data)
        notes = remarks(data)
        blocks: list[Block] = [work] if work.rows else []
        blocks += [Bullets(notes)] if notes else []
        section = Section("Work and rates", blocks, quiet=True)
        return [times, section] if blocks else [times]
    return [
        Section("Operators", [operators, Bullets(remarks(data))], quiet=True),
        PageOnly([times]),
    ]


def _quantiles(data: ReportData) -> Block:
    section = Section("Further quantiles", [quantiles(data)], quiet=True)
    if operator_rates(data).rows:
        return PageOnly([section])
    return section


def comparison_tables(data: ReportData) -> list[Block]:
    """The verdicts, with what each table is about."""
    blocks: list[Block] = []
    for introduction, verdicts in comparisons(data):
        blocks += [Sentence(introduction), verdicts]
    return blocks


def _compared(data: ReportData) -> list[Block]:
    blocks = comparison_tables(data)
    meanings = estimands(data)
    if meanings.rows:
        blocks.append(Details("Ratios of medians and means", [meanings]))
    effect_sizes = effects(data)
    if effect_sizes.rows:
        blocks.append(Details("Effect sizes", [effect_sizes]))
    return blocks
