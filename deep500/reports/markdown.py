"""The report as Markdown that also reads well in a terminal."""

import re

from .answers import answer, status
from .cautions import cautions, tests
from .contents import Table, comparisons, effects, entries, measured_things, quantiles, ratios
from .data import ReportData
from .surroundings import completeness, highlights, plan, provenance, sensors
from .tables import NOTHING, table
from .text import Code, Text, Verdict, clean


def markdown(data: ReportData) -> str:
    """The whole report."""
    return _join(
        f"# {_inline(clean(data.title))}",
        *_head(data),
        _table(entries(data)),
        *_compared(data),
        _section("Notes", _bullets(cautions(data))),
        _section("Quantiles", _table(quantiles(data))),
        _section("Ratios by quantile", _table(ratios(data))),
        _section("Effect sizes", _table(effects(data))),
        _section("What was measured", _table(measured_things(data))),
        _section("What was varied and how", _table(plan(data))),
        _section("Environment", _environment(data)),
        _section("Raw data", _bullets(provenance(data))))


def terminal(data: ReportData) -> str:
    """The short form: answer, tables and warnings."""
    return _join(_inline(clean(data.title)), *_head(data), _table(entries(data)), *_compared(data),
                 _table(quantiles(data)), _bullets(cautions(data)), _bullets(provenance(data)[:2]))


def _head(data: ReportData) -> list[str]:
    problems = [f"PROBLEM: {clean(problem)}" for problem in data.problems]
    return [f"**{_inline(answer(data).sentence)}**", _inline(status(data)), _bullets(problems)]


def _compared(data: ReportData) -> list[str]:
    blocks = [block for intro, table in comparisons(data) for block in (_inline(intro), _table(table))]
    return [*blocks, _bullets(tests(data))]


def _environment(data: ReportData) -> str:
    lines = [f"{name} ({known} known): {facts}" + (f"; unknown: {unknown}" if unknown != NOTHING else "")
             for name, known, facts, unknown in highlights(data).rows]
    lines += [f"{fact}: " + (f"unknown, {unknown}" if unknown else value) for fact, value, _, unknown in sensors(data)]
    return completeness(data) + "\n\n" + _bullets(lines)


def _join(*blocks: str) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip()) + "\n"


def _section(title: str, body: str) -> str:
    return f"## {title}\n\n{body}" if body.strip() else ""


def _bullets(lines: "list[Text] | list[str]") -> str:
    return "\n".join(f"- {_inline(line)}" for line in lines)


def _table(content: Table) -> str:
    if not content.rows:
        return ""
    return table(content.headers, [[_inline(cell) for cell in row] for row in content.rows], content.align)


def _inline(text: Text) -> str:
    if not isinstance(text, str):
        return "".join(map(_inline, text))
    if isinstance(text, Code) and text:
        fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
        pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
        return f"{fence}{pad}{text}{pad}{fence}"
    if isinstance(text, Verdict):
        return str(text)
    # Only what could become HTML or a link is escaped, so that the terminal shows few backslashes.
    return re.sub(r"<(?=[a-zA-Z/!?])|(?<=\])(?=[(\[])", lambda found: "\\" + found[0], text)
