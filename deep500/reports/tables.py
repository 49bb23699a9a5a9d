"""Numbers as text, never without unit, interval and n; and one aligned table for terminal and Markdown alike."""

import itertools
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TypeGuard

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
NOTHING = "–"
USUAL_LEVEL = 0.95
LEAST_PROSE = 24  # columns of text below which prose is not wrapped


class Number(str):
    """A value with its interval and n as one text; the three parts are kept for typesetting."""

    value: str
    interval: str
    n: str

    def __new__(cls, value: str, interval: str = "", n: str = "") -> "Number":
        self = super().__new__(
            cls, value + f" {interval}" * bool(interval) + f", {n}" * bool(n)
        )
        self.value, self.interval, self.n = value, interval, n
        return self


def is_number(x: object) -> TypeGuard[float]:
    """Whether x can be printed as a number: what comes from a file may be anything."""
    return isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 1e300


def seconds(x: object) -> str:
    """A time with SI prefix and 4 significant digits: 1.234 ms."""
    if not is_number(x):
        return NOTHING
    scale, unit = unit_of(x)
    return f"{number(x / scale)} {unit}"


def unit_of(x: float) -> tuple[float, str]:
    """The scale and name of the unit in which x reads as 1 to 999.9."""
    rounded = float(f"{abs(x):.3e}")  # 999.96 ms is 1.000 s
    return next(
        ((s, u) for s, u in UNITS if rounded >= s * (1 - 1e-9)),
        UNITS[0] if x == 0 else UNITS[-1],
    )


def number(x: object, decimals: int | None = None) -> str:
    """A plain number with 4 significant digits, or with so many decimals."""
    if not is_number(x):
        return NOTHING
    return (
        f"{x:.3e}"
        if abs(x) >= 1e9
        else f"{x:.{_decimals(x) if decimals is None else decimals}f}"
    )


def count(n: object) -> str:
    """n = 240."""
    return f"n = {n}" if is_number(n) else "n unknown"


def percent(share: object, digits: int = 4) -> str:
    """0.95 is 95 %."""
    return f"{100 * share:.{digits}g} %" if is_number(share) else NOTHING


def measured(
    value: object, low: object, high: object, n: object, level: object = USUAL_LEVEL
) -> Number:
    """A time: 1.234 ms [1.220, 1.251], n = 240. Intervals are 95 % where they do not say otherwise."""
    scale, unit = unit_of(value) if is_number(value) else (1.0, "s")
    return _number(value, low, high, n, level, scale, unit)


def quantity(
    value: object,
    low: object,
    high: object,
    n: object,
    unit: str,
    level: object = USUAL_LEVEL,
) -> Number:
    """A number in any unit: 97.35 % [96.94, 97.85], n = 6."""
    return (
        measured(value, low, high, n, level)
        if unit == "s"
        else _number(value, low, high, n, level, 1.0, unit)
    )


def ratio(
    value: object, low: object, high: object, n: object, level: object = USUAL_LEVEL
) -> Number:
    """A ratio of costs: 1.052 × [1.047, 1.058], n = 240."""
    return _number(value, low, high, n, level, 1.0, "×")


def _number(
    value: object,
    low: object,
    high: object,
    n: object,
    level: object,
    scale: float,
    unit: str,
) -> Number:
    if not (
        is_number(value) and is_number(low) and is_number(high)
    ):  # no value is shown without its interval
        return Number("refused", n=count(n))
    value, low, high = value / scale, low / scale, high / scale
    decimals = _decimals(value)
    while (
        low < high and decimals < 9 and number(low, decimals) == number(high, decimals)
    ):
        decimals += 1  # an interval of no width would be a false claim
    bounds = f"[{number(low, decimals)}, {number(high, decimals)}]"
    at = "" if level == USUAL_LEVEL else f" at {percent(level)}"
    return Number(f"{number(value, decimals)} {unit}".rstrip(), bounds + at, count(n))


def _decimals(x: float, digits: int = 4) -> int:
    if x == 0:
        return 0
    exponent = int(f"{abs(x):.{digits - 1}e}".partition("e")[2])
    return min(max(0, digits - 1 - exponent), 12)


def table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = ""
) -> str:
    """A Markdown table with aligned columns; align holds l, r or t per column (l where it is too short)."""
    cells = [[_cell(text) for text in row] for row in [headers, *rows]]
    align = align.ljust(len(headers), "l")
    widths = [max(3, *(_width(row[i]) for row in cells)) for i in range(len(headers))]
    rule = [
        ("-" * (w - 1) + ":") if a == "r" else "-" * w
        for w, a in zip(widths, align, strict=True)
    ]
    return (
        "\n".join(_line(row, widths, align) for row in [cells[0], rule, *cells[1:]])
        + "\n"
    )


Part = tuple[
    Sequence[str], Sequence[Sequence[str]], str
]  # headers, rows, alignment of a table


def fitted(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str, most: int
) -> list[Part]:
    """The table in parts of at most `most` columns of text: whole, wrapped, turned, or cut between columns.

    Columns marked t in `align` are prose and may be wrapped where the table is too wide. A part that was cut off
    repeats the first column, or the number of the row where that is no name of it. What is wider than a part is wrapped
    between words; a single long word (a path) is never broken.
    """
    align = align.ljust(len(headers), "l")
    if _table_width(headers, rows) <= most:
        return [(headers, rows, align)]
    if wrapped := _with_wrapped_prose(headers, rows, align, most):
        return [(headers, wrapped, align)]
    turned = [list(column) for column in zip(headers, *rows, strict=True)]
    if len(rows) <= 2 and _table_width(turned[0], turned[1:]) <= most:
        return [(turned[0], turned[1:], "")]
    names = [row[0] for row in rows]
    if len({*names}) < len(names) or max(map(_width, names), default=0) > most // 3:
        headers, align = ["#", *headers], "r" + align
        rows = [[str(number), *row] for number, row in enumerate(rows, 1)]
    return _cut(headers, rows, align, most)


def _with_wrapped_prose(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str, most: int
) -> list[list[str]] | None:
    """The rows with their prose wrapped so that they fit; None where there is none, or too little room for it."""
    prose = [i for i, mark in enumerate(align) if mark == "t"]
    others = [i for i, mark in enumerate(align) if mark != "t"]
    if not prose:
        return None
    rest = _table_width(*_columns(headers, rows, others)) if others else 1
    room = (most - rest) // len(prose) - 3
    if room < LEAST_PROSE:
        return None
    lines: list[list[str]] = []
    for row in rows:
        lines += _wrapped(row, [room if i in prose else most for i in range(len(row))])
    return lines if _table_width(headers, lines) <= most else None


def _cut(
    headers: Sequence[str], rows: Sequence[Sequence[str]], align: str, most: int
) -> list[Part]:
    groups: list[list[int]] = []
    for column in range(1, len(headers)):
        together = [0, *(groups[-1] if groups else []), column]
        if groups and _table_width(*_columns(headers, rows, together)) <= most:
            groups[-1].append(column)
        else:
            groups.append([column])
    parts: list[Part] = []
    for group in groups:
        chosen = [0, *group]
        some_headers, some_rows = _columns(headers, rows, chosen)
        names = [some_headers[0], *(row[0] for row in some_rows)]
        room = max(20, most - max(map(_width, names)) - 7)
        lines: list[list[str]] = []
        for row in some_rows:
            lines += _wrapped(row, [room] * len(row))
        parts.append((some_headers, lines, "".join(align[i] for i in chosen)))
    return parts


def _columns(
    headers: Sequence[str], rows: Sequence[Sequence[str]], chosen: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    some = [[row[i] for i in chosen] for row in [headers, *rows]]
    return some[0], some[1:]


def _wrapped(row: Sequence[str], rooms: Sequence[int]) -> list[list[str]]:
    """The row in as many lines as its longest cell needs."""
    cells = []
    for cell, room in zip(row, rooms, strict=True):
        cells.append(textwrap.wrap(cell, room, break_long_words=False) or [""])
    return [list(line) for line in itertools.zip_longest(*cells, fillvalue="")]


def _table_width(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    columns = zip(headers, *rows, strict=True)
    widths = [max(3, *(_width(_cell(text)) for text in column)) for column in columns]
    return sum(widths) + 3 * len(widths) + 1


def _line(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    padded = (
        " " * (w - _width(text)) + text if a == "r" else text + " " * (w - _width(text))
        for text, w, a in zip(row, widths, align, strict=True)
    )
    return f"| {' | '.join(padded)} |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.combining(c)
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )
