"""The pieces of an HTML page: no script, nothing from outside, everything from data escaped."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape

from .blocks import Banner, Picture, Table
from .canvas import COLOURS, INK
from .stylesheet import STYLESHEET
from .tables import Number
from .text import (
    Code,
    Link,
    Text,
    VerdictWord,
    clean,
    flat,
    harmless,
)

# Colour alone never carries a meaning.
SIGNS = {
    "faster": "▼",
    "slower": "▲",
    "same": "=",
    "inconclusive": "?",
    "refused": "✕",
    "acceptable": "✓",
    "met": "✓",
    "not acceptable": "✕",
    "missed": "✕",
    "unfinished": "…",
    "ok": "✓",
    "wrong": "✕",
    "better": "▲",
    "worse": "▼",
}
# Even a page that was tampered with loads nothing and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def escaped(text: str) -> str:
    """Untrusted text as HTML that shows it and does nothing else."""
    return escape(harmless(text))


def page(kicker: str, title: str, body: str, style: str = "", script: str = "") -> str:
    """The whole page around its body; `script`, which is ours, is the only one that its policy lets run."""
    title = escaped(clean(title))
    policy, program = POLICY, ""
    if script:
        digest = b64encode(sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
        program = f"<script>{script}</script>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{STYLESHEET}{style}</style>
</head>
<body>
<main>
<p class="kicker">{escaped(kicker)}</p>
<h1>{title}</h1>
{body}
</main>
{program}</body>
</html>
"""


def banner(content: Banner) -> str:
    """The answer, in a frame of its colour."""
    tone = ""
    if len(content.verdicts) == 1:
        [tone] = content.verdicts
    pills = _pills(content.verdicts) or pill(content.pill)
    headline = _headline(content.headline)
    figures = ""
    for label, value in content.figures:
        figures += f"<div><dt>{inline(label)}</dt><dd>{inline(value)}</dd></div>"
    status = inline(content.status)
    colour = css_class(tone)
    return (
        f'<section class="banner {colour}">{pills}\n'
        f'<p class="headline">{headline}</p>\n'
        f'<dl>{figures}</dl>\n<p class="muted">{status}</p></section>'
    )


def _pills(verdicts: Mapping[VerdictWord, int]) -> str:
    """The verdicts, each with its count if there are several."""
    total = sum(verdicts.values())
    pills = []
    for verdict, n in verdicts.items():
        count = f"{n} " if total > 1 else ""
        pills.append(pill(verdict, count))
    return " ".join(pills)


def _headline(text: Text) -> str:
    """The headline, in which verdicts are plain words: their pills stand above it."""
    headline = ""
    for part in flat(text):
        if isinstance(part, VerdictWord):
            part = str(part)
        headline += inline(part)
    return headline


def pill(verdict: str, count: str = "") -> str:
    sign = SIGNS.get(verdict, "●")
    word = escaped(verdict)
    colour = css_class(verdict)
    return f'<span class="verdict {colour}">{sign} {count}{word}</span>'


def css_class(verdict: str) -> str:
    return escaped(verdict.replace(" ", "-"))


def alarm(problems: Sequence[str], headline: str = "") -> str:
    """A box with the problems of the bundle itself; nothing without any."""
    if not problems:
        return ""
    title = escaped(headline or "Problems of this bundle")
    lines = bullets([clean(problem) for problem in problems])
    return f'<section class="alarm"><strong>{title}</strong>{lines}</section>'


def figure(picture: Picture, more: str = "") -> str:
    title = escaped(picture.title)
    caption = prose(picture.caption)
    images = _image(picture.svg, "picture")
    kind = ""
    if picture.narrow:
        kind = ' class="both"'
        images = _image(picture.svg, "picture wide-screen")
        images += _image(picture.narrow, "picture phone")
    return (
        f"<figure{kind}><h3>{title}</h3>{images}"
        f"<figcaption>{caption}</figcaption>{more}</figure>\n"
    )


def _image(svg: str, kind: str) -> str:
    """An SVG in the colours of the page: alone it has one set, in the page one for light and one for dark."""
    svg = svg.replace(INK, "var(--ink)")
    for number, colour in enumerate(COLOURS, 1):
        svg = svg.replace(colour, f"var(--colour-{number})")
    return f'<div class="{kind}" tabindex="0">{svg}</div>'


def section(title: str, body: str, level: int = 2) -> str:
    """A heading over a body; only the largest ones are sections of the page."""
    if not body:
        return ""
    headed = f"<h{level}>{escaped(title)}</h{level}>\n{body}"
    if level == 2:
        return f"<section>{headed}</section>\n"
    return headed


def details(summary: str, body: str) -> str:
    """A body that is shown when its summary is clicked; nothing without a body."""
    if not body:
        return ""
    return f"<details><summary>{escaped(summary)}</summary>{body}</details>"


def bullets(lines: Sequence[Text]) -> str:
    if not lines:
        return ""
    items = "".join(f"<li>{inline(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>"


def table(content: Table, attributes: Sequence[Mapping[str, str]] = ()) -> str:
    """A table that scrolls sideways if it is too wide; nothing without rows. `attributes` are those of each row."""
    if not content.rows:
        return ""
    headers = [escaped(header) for header in content.headers]
    align = content.align.ljust(len(headers), "l")
    marks = [_alignment(side) for side in align]
    head = ""
    for header, mark in zip(headers, marks, strict=True):
        # a screen reader has nothing to say of a header without text
        head += f'<th scope="col"{mark}>{header}</th>' if header else "<td></td>"
    of_rows = attributes or [{}] * len(content.rows)
    body = ""
    for row, of_row in zip(content.rows, of_rows, strict=True):
        body += _row(row, headers, marks, of_row)
    pairs = ' class="pairs"' if len(headers) == 2 else ""
    return f'<div class="wide"><table{pairs}><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def _alignment(side: str) -> str:
    return ' class="r"' if side == "r" else ""


def _row(
    row: Sequence[Text],
    headers: Sequence[str],
    marks: Sequence[str],
    attributes: Mapping[str, str],
) -> str:
    """A row of a table; every cell repeats its (escaped) header for narrow screens, where cells are stacked."""
    name, *values = row
    cells = ""
    for value, header, mark in zip(values, headers[1:], marks[1:], strict=True):
        cells += f'<td data-label="{header}"{mark}><div>{inline(value)}</div></td>'
    told = ""
    for key, value in attributes.items():
        told += f' {key}="{escaped(value)}"'
    return f'<tr{told}><th scope="row">{inline(name)}</th>{cells}</tr>\n'


def inline(text: Text) -> str:
    """Text of any kind as HTML."""
    if not isinstance(text, str):
        return "".join(map(inline, text))
    if isinstance(text, VerdictWord):
        return pill(text)
    if isinstance(text, Number):
        return _number(text)
    if isinstance(text, Code):
        return f"<code>{escaped(text)}</code>"
    if isinstance(text, Link):
        return f'<a href="{escaped(text.href)}">{escaped(text)}</a>'
    return prose(text)


def _number(number: Number) -> str:
    parts = [f"<b>{escaped(number.value)}</b>"]
    if number.interval:
        parts.append(f"<span>{escaped(number.interval)}</span>")
    if number.n:
        comma = "<span>,</span>"
        parts[-1] += comma
        parts.append(f"<span>{escaped(number.n)}</span>")
    return f'<span class="number">{" ".join(parts)}</span>'


def prose(text: str) -> str:
    """The text, escaped, with a no-break space between a number and its unit."""
    space_before_unit = r"(?<=\d) (?=[%×]|[mµnp]?s\b)|(?<=[≥≤]) "
    return re.sub(space_before_unit, "\u00a0", escaped(text))
