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
from .cautions import cautions, run_cautions
from .data import ReportData
from .measurement_report import comparison_tables, measurement_banner
from .plan import plan_table
from .rates import omissions, remarks


def page_around(
    data: ReportData,
    kicker: str,
    title: str,
    answer: str,
    sections: Sequence[Block],
    draw: Callable[[], Sequence[Picture]],
) -> Report:
    """The answer, the sections and what is wrong; a page has pictures, notes, comparisons and the environment, too."""
    banner = replace(measurement_banner(data), sentence=answer, headline=answer)
    wrong = replace(data.plan.about, left_out={}, differing={})
    only_on_page = [
        Section("Pictures", [Figures(draw)]),
        Section("Notes and warnings", [Bullets([*remarks(data), *cautions(data)])]),
        Section("Comparisons", comparison_tables(data)),
        Section("What was varied and how", [plan_table(data)]),
        environment_section(data.environment, data.sensors),
    ]
    blocks = [
        banner,
        Problems(data.problems),
        *sections,
        Section(
            "Cautions", [Bullets([*omissions(wrong), *run_cautions(data)])], quiet=True
        ),
        PageOnly(only_on_page),
        raw_data(data.bundle, data.hash),
    ]
    return Report(kicker, title, blocks)
