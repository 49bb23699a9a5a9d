"""The report of a recipe's run: text for terminal and Markdown, and one self-contained HTML page."""

import json
from html import escape
from pathlib import Path

from ..bundle import read
from .markdown import as_table, inline, join
from .markdown import bullets as lines
from .markdown import section as heading
from .markup import (
    alarm,
    banner,
    bullets,
    details,
    figure,
    page,
    pill,
    section,
    surroundings,
    table,
)
from .outcome_contents import (
    amount,
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
from .outcome_data import OutcomeData, outcome_data
from .outcome_pictures import outcome_pictures
from .surroundings import completeness, provenance
from .text import Text, clean, flat

NEWLINE = "\n"


def outcome_text(path: str | Path) -> str:
    """The run in a bundle, for terminal and Markdown."""
    return text(outcome_data(read(path)))


def outcome_html(path: str | Path) -> str:
    """The run in a bundle, as a page."""
    return html(outcome_data(read(path)))


def text(data: OutcomeData) -> str:
    problems = [f"PROBLEM: {clean(problem)}" for problem in data.problems]
    return join(
        f"**{inline(sentence(data))}**",
        lines(problems),
        inline(resuming(data)),
        as_table(metrics(data)),
        lines(notes(data)),
        heading(f"What was run: {inline(data.title)}", as_table(what_was_run(data))),
        completeness(data),
        lines(provenance(data)),
    )


def html(data: OutcomeData) -> str:
    return page(
        "Deep500 recipe",
        data.title,
        f"""{_banner(data)}
{alarm(data.problems)}
{section("Metrics", table(metrics(data)) + bullets(notes(data)))}
{section("Pictures", "".join(map(figure, outcome_pictures(data))))}
{section("What was run", table(what_was_run(data)) + details("The recipe as it was hashed", _recipe(data)))}
{surroundings(data)}
<footer>
{section("Raw data", bullets(provenance(data)))}
</footer>""",
    )


def _banner(data: OutcomeData) -> str:
    found = verdict(data)
    first, *rest = flat(headline(data))
    others: list[tuple[Text, Text]] = [
        (metric_name(m), amount(m)) for m in data.metrics if m["target"] is None
    ]
    return banner(
        pill(found),
        found,
        [first[:1].upper() + first[1:], *rest],
        others,
        resuming(data) or f"{progress(data)}, {data.plan['epochs']} epochs each.",
    )


def _recipe(data: OutcomeData) -> str:
    written = json.dumps(data.plan["recipe"], indent=2, ensure_ascii=False)
    return f"<pre>{escape(NEWLINE.join(map(_clean_line, written.split(NEWLINE))))}</pre>"


def _clean_line(line: str) -> str:
    indent = len(line) - len(line.lstrip(" "))
    return " " * indent + clean(line)
