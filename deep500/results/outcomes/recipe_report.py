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
from ...reports.text import clean, counted, flat
from .contents import (
    claims,
    headline,
    interval_methods,
    is_complete,
    metrics,
    notes,
    progress,
    sentence,
    verdict,
)
from .data import OutcomeData
from .metric_text import amount, metric_name
from .noise import noise_section
from .pictures import outcome_pictures
from .recipe_text import resuming, what_was_run
from .scrutiny import scrutiny_section


def outcome_report(data: OutcomeData) -> Report:
    """The blocks of the report."""
    written = Preformatted(_recipe(data))
    recipe = Details("The recipe as it was hashed", [written], long=True)
    results: list[Block] = [
        metrics(data),
        claims(data),
        Bullets(notes(data)),
        interval_methods(data),
    ]
    pictures = Section("Pictures", [Figures(lambda: outcome_pictures(data))])
    blocks: list[Block] = [
        _banner(data),
        Section("Metrics", results, quiet=True),
        *noise_section(data),
        PageOnly([pictures]),
        Section(f"What was run: {data.title}", [what_was_run(data), recipe]),
        scrutiny_section(data),
        environment_section(data.environment),
        raw_data(data.bundle, data.hash),
    ]
    return Report("Deep500 recipe", data.title, blocks)


def _banner(data: OutcomeData) -> Banner:
    first, *others = flat(headline(data))
    capitalised = first[:1].upper() + first[1:]
    figures = []
    targets = [metric.target for metric in data.metrics]
    several_targets = len(targets) - targets.count(None) > 1
    for metric in data.metrics:
        if metric.target is None or several_targets:
            figures.append((metric_name(metric), amount(metric)))
    planned = counted(data.plan.epochs, "epoch")
    epochs = f"{progress(data)}; planned: {planned} each."
    if all(is_complete(data, run) for run in data.runs):
        epochs = f"{progress(data)}, {planned} each."
    status = resuming(data) or epochs
    verdicts = {verdict(data): 1}
    title = [capitalised, *others]
    return Banner(sentence(data), title, verdicts, figures, status)


def _recipe(data: OutcomeData) -> str:
    written = json.dumps(
        data.plan.recipe.document, indent=2, ensure_ascii=False, sort_keys=True
    )
    return "\n".join(map(_clean_line, written.split("\n")))


def _clean_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + clean(line)
