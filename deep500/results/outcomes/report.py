"""The report of a recipe's run: every block of it, for all formats."""

import json

from ...reports.blocks import (
    Banner,
    Block,
    Bullets,
    Details,
    Figures,
    PageOnly,
    Preformatted,
    Report,
    Section,
)
from ...reports.surroundings import environment_section, raw_data
from ...reports.text import Text, clean, flat
from .contents import (
    amount,
    claims,
    headline,
    metric_name,
    metrics,
    notes,
    progress,
    resuming,
    sentence,
    verdict,
    what_was_run,
)
from .data import OutcomeData
from .noise import noise_section
from .pictures import outcome_pictures


def outcome_report(data: OutcomeData) -> Report:
    """The blocks of the report."""
    recipe = Details(
        "The recipe as it was hashed", [Preformatted(_recipe(data))], long=True
    )
    blocks: list[Block] = [
        _banner(data),
        Section(
            "Metrics", [metrics(data), claims(data), Bullets(notes(data))], quiet=True
        ),
        *noise_section(data),
        PageOnly([Section("Pictures", [Figures(lambda: outcome_pictures(data))])]),
        Section(f"What was run: {data.title}", [what_was_run(data), recipe]),
        environment_section(data.environment),
        raw_data(data.bundle, data.hash),
    ]
    return Report("Deep500 recipe", data.title, blocks)


def _banner(data: OutcomeData) -> Banner:
    first, *rest = flat(headline(data))
    others: list[tuple[Text, Text]] = []
    for metric in data.metrics:
        if metric["target"] is None:
            others.append((metric_name(metric), amount(metric)))
    epochs = f"{progress(data)}, {data.plan['epochs']} epochs each."
    return Banner(
        sentence(data),
        [first[:1].upper() + first[1:], *rest],
        {verdict(data): 1},
        others,
        resuming(data) or epochs,
    )


def _recipe(data: OutcomeData) -> str:
    written = json.dumps(data.plan["recipe"], indent=2, ensure_ascii=False)
    return "\n".join(map(_clean_line, written.split("\n")))


def _clean_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + clean(line)
