"""The page of a benchmark that has sections of its own: what every benchmark shows stands around them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...reports.blocks import (
    Block,
    Bullets,
    Figures,
    PageOnly,
    Picture,
    Problems,
    Report,
    Section,
)
from ...reports.surroundings import environment_section, raw_data
from .cautions import cautions
from .data import ReportData
from .measurement_report import comparison_tables, measurement_banner
from .plan import plan_table
from .rates import remarks


def page_around(
    data: ReportData,
    kicker: str,
    title: str,
    answer: str,
    sections: Sequence[Block],
    draw: Callable[[], Sequence[Picture]],
) -> Report:
    """The answer, the sections, comparisons and notes; a page has pictures, the plan and the environment, too."""
    banner = replace(measurement_banner(data), sentence=answer, headline=answer)
    notes = Bullets([*remarks(data), *cautions(data)])
    only_on_page = [
        Section("Pictures", [Figures(draw)]),
        Section("Comparisons", comparison_tables(data)),
        Section("What was varied and how", [plan_table(data)]),
        environment_section(data.environment, data.sensors),
    ]
    blocks = [
        banner,
        Problems(data.problems),
        *sections,
        Section("Notes and warnings", [notes], quiet=True),
        PageOnly(only_on_page),
        raw_data(data.bundle, data.hash),
    ]
    return Report(kicker, title, blocks)
