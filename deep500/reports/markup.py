"""The pieces of an HTML page: no script, nothing from outside, everything from data escaped."""

import re
from collections.abc import Sequence
from html import escape

from .blocks import Banner, Picture, Table
from .canvas import COLOURS, INK
from .stylesheet import STYLESHEET
from .tables import Number
from .text import (
    Code,
    Text,
    Verdict,
    clean,
    flat,
    harmless,
)

# Never colour alone.
SIGNS = {
    "faster": "▼",
    "slower": "▲",
    "same": "=",
    "inconclusive": "?",
    "refused": "✕",
    "acceptable": "✓",
    "met": "✓",
    "unsure": "?",
    "not acceptable": "✕",
    "missed": "✕",
    "unfinished": "…",
    "ok": "✓",
    "wrong": "✕",
    "better": "▲",
    "worse": "▼",
}
# A page that was tampered with still loads nothing and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def escaped(text: str) -> str:
    """Text from anyone, as HTML that shows it and does nothing else."""
    return escape(harmless(text))


def page(kicker: str, title: str, body: str) -> str:
    """The whole page around its body."""
    title = escaped(clean(title))
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
<p class="kicker">{escaped(kicker)}</p>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


def banner(found: Banner) -> str:
    """The answer, in a frame of its colour."""
    total = sum(found.verdicts.values())
    pills = [
        pill(word, f"{n} " if total > 1 else "") for word, n in found.verdicts.items()
    ]
    tone = next(iter(found.verdicts)) if len(found.verdicts) == 1 else ""
    words = [
        str(part) if isinstance(part, Verdict) else part
        for part in flat(found.headline)
    ]
    figures = [
        f"<div><dt>{inline(label)}</dt><dd>{inline(value)}</dd></div>"
        for label, value in found.figures
    ]
    return (
        f'<section class="banner {css_class(tone)}">{" ".join(pills) or pill("measured")}\n'
        f'<p class="headline">{"".join(map(inline, words))}</p>\n'
        f'<dl>{"".join(figures)}</dl>\n<p class="muted">{inline(found.status)}</p></section>'
    )


def pill(verdict: str, count: str = "") -> str:
    return f'<span class="verdict {css_class(verdict)}">{SIGNS.get(verdict, "●")} {count}{escaped(verdict)}</span>'


def css_class(verdict: str) -> str:
    return escaped(verdict.replace(" ", "-"))


def alarm(problems: Sequence[str], headline: str = "") -> str:
    """What is wrong with the bundle itself."""
    if not problems:
        return ""
    title = escaped(headline or "Problems of this bundle")
    lines = bullets([clean(problem) for problem in problems])
    return f'<section class="alarm"><strong>{title}</strong>{lines}</section>'


def figure(picture: Picture, more: str = "") -> str:
    # On its own a picture has one set of colours; in the page there is one for light and one for dark.
    svg = picture.svg.replace(INK, "var(--ink)")
    for number, colour in enumerate(COLOURS, 1):
        svg = svg.replace(colour, f"var(--colour-{number})")
    return (
        f'<figure><h3>{escaped(picture.title)}</h3><div class="picture" tabindex="0">{svg}</div>'
        f"<figcaption>{prose(picture.caption)}</figcaption>{more}</figure>\n"
    )


def section(title: str, body: str, level: int = 2) -> str:
    """A heading over a body; only the largest ones are sections of the page."""
    if not body:
        return ""
    headed = f"<h{level}>{escaped(title)}</h{level}>\n{body}"
    return f"<section>{headed}</section>\n" if level == 2 else headed


def details(summary: str, body: str) -> str:
    return (
        f"<details><summary>{escaped(summary)}</summary>{body}</details>"
        if body
        else ""
    )


def bullets(lines: Sequence[Text]) -> str:
    return (
        "<ul>" + "".join(f"<li>{inline(line)}</li>" for line in lines) + "</ul>"
        if lines
        else ""
    )


def table(content: Table) -> str:
    if not content.rows:
        return ""
    align = content.align.ljust(len(content.headers), "l")
    marks = [' class="r"' if a == "r" else "" for a in align]
    head = "".join(
        f'<th scope="col"{mark}>{escaped(h)}</th>'
        for h, mark in zip(content.headers, marks, strict=True)
    )
    body = "".join(_row(row, content.headers, marks) for row in content.rows)
    pairs = ' class="pairs"' if len(content.headers) == 2 else ""
    return f'<div class="wide"><table{pairs}><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def _row(row: Sequence[Text], headers: Sequence[str], marks: Sequence[str]) -> str:
    # The label repeats the header on narrow screens, where rows are stacked.
    cells = "".join(
        f'<td data-label="{escaped(header)}"{mark}><div>{inline(cell)}</div></td>'
        for cell, header, mark in zip(row[1:], headers[1:], marks[1:], strict=True)
    )
    return f'<tr><th scope="row">{inline(row[0])}</th>{cells}</tr>\n'


def inline(text: Text) -> str:
    if not isinstance(text, str):
        return "".join(map(inline, text))
    if isinstance(text, Verdict):
        return pill(text)
    if isinstance(text, Number):
        interval = f" <span>{escaped(text.interval)}</span>" if text.interval else ""
        n = f"<span>, {escaped(text.n)}</span>" if text.n else ""
        return f'<span class="number"><b>{escaped(text.value)}</b>{interval}{n}</span>'
    return f"<code>{escaped(text)}</code>" if isinstance(text, Code) else prose(text)


def prose(text: str) -> str:
    """Escaped, with numbers kept on one line with their units."""
    return re.sub(r"(?<=\d) (?=[%×]|[mµnp]?s\b)|(?<=[≥≤]) ", "\u00a0", escaped(text))
