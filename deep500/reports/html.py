"""The report as one self-contained HTML page: no script, nothing from outside, everything from data escaped."""

import re
from collections.abc import Sequence
from html import escape

from .answers import Answer, answer, status
from .canvas import COLOURS, INK
from .cautions import cautions, tests
from .contents import Table, comparisons, effects, entries, measured_things, quantiles, ratios
from .data import ReportData
from .pictures import pictures
from .series import Picture
from .stylesheet import STYLESHEET
from .surroundings import Facts, completeness, environment, highlights, plan, provenance, sensors
from .tables import Number
from .text import Code, Text, Verdict, clean, flat

SIGNS = {"faster": "▼", "slower": "▲", "same": "=", "inconclusive": "?", "refused": "✕"}  # never colour alone
# A page that was tampered with still loads nothing and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(data: ReportData) -> str:
    """The whole report as a page."""
    title = escape(clean(data.title))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{title}</title>
<style>{STYLESHEET}</style>
</head>
<body>
<main>
<p class="kicker">Deep500 measurement</p>
<h1>{title}</h1>
{_banner(data, answer(data))}
{_problems(data.problems)}
{_results(data)}
{_pictures(data)}
{_method(data)}
{_environment(data)}
<footer>
{_section("Raw data", _bullets(provenance(data)))}
</footer>
</main>
</body>
</html>
"""


def _banner(data: ReportData, found: Answer) -> str:
    total = sum(found.verdicts.values())
    words = " ".join(_pill(verdict, f"{count} " if total > 1 else "") for verdict, count in found.verdicts.items())
    tone = next(iter(found.verdicts)) if len(found.verdicts) == 1 else ""
    headline = "".join(_inline(str(part) if isinstance(part, Verdict) else part) for part in flat(found.headline))
    figures = "".join(f"<div><dt>{_inline(label)}</dt><dd>{_inline(value)}</dd></div>"
                      for label, value in found.figures)
    return (f'<section class="banner {tone}">{words or _pill("measured")}\n<p class="headline">{headline}</p>\n'
            f'<dl>{figures}</dl>\n<p class="muted">{_inline(status(data))}</p></section>')


def _pill(verdict: str, count: str = "") -> str:
    return f'<span class="verdict {escape(verdict)}">{SIGNS.get(verdict, "●")} {count}{escape(verdict)}</span>'


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    lines = _bullets([clean(problem) for problem in problems])
    return f'<section class="alarm"><strong>Problems of this bundle</strong>{lines}</section>'


def _results(data: ReportData) -> str:
    compared = "".join(f"<p>{_inline(intro)}</p>{_table(table)}" for intro, table in comparisons(data))
    compared += _paragraphs(tests(data)) + _details("Effect sizes", _table(effects(data)))
    return "".join([_section("Times", _table(entries(data))), _section("Comparisons", compared),
                    _section("Notes and warnings", _bullets(cautions(data))),
                    _section("Further quantiles", _table(quantiles(data)))])


def _pictures(data: ReportData) -> str:
    return _section("Pictures", "".join(_figure(picture, data) for picture in pictures(data)))


def _figure(picture: Picture, data: ReportData) -> str:
    # On its own a picture has one set of colours; in the page there is one for light and one for dark.
    svg = picture.svg.replace(INK, "var(--ink)")
    for number, colour in enumerate(COLOURS, 1):
        svg = svg.replace(colour, f"var(--colour-{number})")
    numbers = _details("The same as numbers", _table(ratios(data))) if picture.name == "ratios" else ""
    return (f'<figure><h3>{escape(picture.title)}</h3><div class="picture">{svg}</div>'
            f"<figcaption>{_prose(picture.caption)}</figcaption>{numbers}</figure>\n")


def _method(data: ReportData) -> str:
    return (_section("What was measured", _table(measured_things(data)))
            + _section("What was varied and how", _table(plan(data))))


def _environment(data: ReportData) -> str:
    groups = [*environment(data), *([("sensors", sensors(data))] if data.sensors else [])]
    body = "".join(f"<h3>{escape(name)}</h3>{_table(_facts(facts))}" for name, facts in groups if facts)
    return _section("Environment", f"<p>{_prose(completeness(data))}</p>{_table(highlights(data))}"
                    + _details("All facts", body))


def _facts(facts: Facts) -> Table:
    return Table(["fact", "value", "source"], [[fact, f"unknown: {unknown}" if unknown else value, source]
                                               for fact, value, source, unknown in facts])


def _section(title: str, body: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>\n" if body else ""


def _details(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{body}</details>" if body else ""


def _bullets(lines: Sequence[Text]) -> str:
    return "<ul>" + "".join(f"<li>{_inline(line)}</li>" for line in lines) + "</ul>" if lines else ""


def _paragraphs(lines: Sequence[Text]) -> str:
    return "".join(f'<p class="muted">{_inline(line)}</p>' for line in lines)


def _table(content: Table) -> str:
    if not content.rows:
        return ""
    align = content.align.ljust(len(content.headers), "l")
    marks = [' class="r"' if a == "r" else "" for a in align]
    head = "".join(f'<th scope="col"{mark}>{escape(h)}</th>' for h, mark in zip(content.headers, marks, strict=True))
    body = "".join(_row(row, content.headers, marks) for row in content.rows)
    pairs = ' class="pairs"' if len(content.headers) == 2 else ""
    return f'<div class="wide"><table{pairs}><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def _row(row: Sequence[Text], headers: Sequence[str], marks: Sequence[str]) -> str:
    # The label repeats the header on narrow screens, where rows are stacked.
    cells = "".join(f'<td data-label="{escape(header)}"{mark}><div>{_inline(cell)}</div></td>'
                    for cell, header, mark in zip(row[1:], headers[1:], marks[1:], strict=True))
    return f'<tr><th scope="row">{_inline(row[0])}</th>{cells}</tr>\n'


def _inline(text: Text) -> str:
    if not isinstance(text, str):
        return "".join(map(_inline, text))
    if isinstance(text, Verdict):
        return _pill(text)
    if isinstance(text, Number):
        interval = f" <span>{escape(text.interval)}</span>" if text.interval else ""
        n = f"<span>, {escape(text.n)}</span>" if text.n else ""
        return f'<span class="number"><b>{escape(text.value)}</b>{interval}{n}</span>'
    return f"<code>{escape(text)}</code>" if isinstance(text, Code) else _prose(text)


def _prose(text: str) -> str:
    """Escaped, with numbers kept on one line with their units."""
    return re.sub(r"(?<=\d) (?=[%×]|[mµnp]?s\b)", "\u00a0", escape(text))
