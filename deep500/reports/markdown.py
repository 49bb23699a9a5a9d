"""The report as Markdown that also reads well in a terminal."""

import re

from .answers import answer, status
from .cautions import cautions
from .contents import (
    Table,
    comparisons,
    effects,
    entries,
    measured_things,
    quantiles,
    ratios,
)
from .data import ReportData
from .rates import rates, remarks
from .surroundings import (
    completeness,
    highlights,
    plan,
    provenance,
    sensors,
)
from .tables import NOTHING, table
from .text import (
    Code,
    Text,
    Verdict,
    clean,
)


def markdown(data: ReportData) -> str:
    """The whole report."""
    return join(
        f"# {inline(clean(data.title))}",
        *_head(data),
        as_table(rates(data)),
        bullets(remarks(data)),
        as_table(entries(data)),
        *_compared(data),
        section("Notes", bullets(cautions(data))),
        section("Quantiles", as_table(quantiles(data))),
        section("Ratios by quantile", as_table(ratios(data))),
        section("Effect sizes", as_table(effects(data))),
        section("What was measured", as_table(measured_things(data))),
        section("What was varied and how", as_table(plan(data))),
        section("Environment", _environment(data)),
        section("Raw data", bullets(provenance(data))),
    )


def terminal(data: ReportData) -> str:
    """The short form: answer, tables and warnings."""
    operators = rates(data)
    times = (
        [as_table(operators), bullets(remarks(data))]
        if operators.rows
        else [as_table(entries(data))]
    )
    return join(
        inline(clean(data.title)),
        *_head(data),
        *times,
        *_compared(data),
        as_table(quantiles(data)) if not operators.rows else "",
        bullets(cautions(data)),
        bullets(provenance(data)[:2]),
    )


def _head(data: ReportData) -> list[str]:
    problems = [f"PROBLEM: {clean(problem)}" for problem in data.problems]
    return [f"**{inline(answer(data).sentence)}**", inline(status(data)), bullets(problems)]


def _compared(data: ReportData) -> list[str]:
    blocks = [
        block
        for intro, content in comparisons(data)
        for block in (inline(intro), as_table(content))
    ]
    return blocks


def _environment(data: ReportData) -> str:
    lines = [
        f"{name} ({known} known): {facts}" + (f"; unknown: {unknown}" if unknown != NOTHING else "")
        for name, known, facts, unknown in highlights(data).rows
    ]
    lines += [
        f"{fact}: " + (f"unknown, {unknown}" if unknown else value)
        for fact, value, _, unknown in sensors(data)
    ]
    return completeness(data) + "\n\n" + bullets(lines)


def join(*blocks: str) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body.strip() else ""


def bullets(lines: "list[Text] | list[str]") -> str:
    return "\n".join(f"- {inline(line)}" for line in lines)


def as_table(content: Table) -> str:
    if not content.rows:
        return ""
    return table(
        content.headers, [[inline(cell) for cell in row] for row in content.rows], content.align
    )


def inline(text: Text) -> str:
    if not isinstance(text, str):
        return "".join(map(inline, text))
    if isinstance(text, Code) and text:
        fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
        pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}"
    if isinstance(text, Verdict):
        return str(text)
    # Only what could become HTML or a link is escaped, so that the terminal shows few backslashes.
    return re.sub(r"<(?=[a-zA-Z/!?])|(?<=\])(?=[(\[])", lambda found: "\\" + found[0], text)
