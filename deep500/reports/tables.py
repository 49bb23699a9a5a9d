"""Numbers as text, always with unit, interval and n, and aligned tables for the terminal and Markdown."""

import itertools
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import TypeGuard

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"), (1e-12, "ps"))
NOTHING = "–"
USUAL_LEVEL = 0.95
# a column of prose is not wrapped to fewer characters than this
LEAST_PROSE = 24
MOST_LINES = 3  # of a row, on average, when its cells are wrapped
UNBREAKABLE = re.compile(r"\[[^\[\]]*\],?|`[^`]*`|n = \S+|[-+]?[\d.]+ [^\s\d\[(]+|\S+")
LEAST_WIDTH = 3  # of a column: Markdown's rule needs three dashes

Row = Sequence[str]
Rows = Sequence[Row]
Part = tuple[Row, Rows, str]  # headers, rows and alignment of a table


class Number(str):
    """A value with its interval and n as one text; the three parts are kept for typesetting."""

    value: str
    interval: str
    n: str

    def __new__(cls, value: str, interval: str = "", n: str = "") -> "Number":
        text = value
        if interval:
            text += f" {interval}"
        if n:
            text += f", {n}"
        self = super().__new__(cls, text)
        self.value = value
        self.interval = interval
        self.n = n
        return self


def is_number(x: object) -> TypeGuard[float]:
    """Whether x can be printed as a number; a value from a file may be anything."""
    if isinstance(x, bool) or not isinstance(x, int | float):
        return False
    return abs(x) < 1e300


def seconds(x: object) -> str:
    """A time with SI prefix and 4 significant digits: 1.234 ms."""
    if not is_number(x):
        return NOTHING
    scale, unit = unit_of(x)
    scaled = number(x / scale)
    return f"{scaled} {unit}"


def unit_of(x: float) -> tuple[float, str]:
    """The scale and name of the unit in which x reads as 1 to 999.9."""
    rounded = float(f"{abs(x):.3e}")  # 999.96 ms is 1.000 s
    for scale, unit in UNITS:
        if rounded >= scale * (1 - 1e-9):
            return scale, unit
    if x == 0:
        return UNITS[0]
    return UNITS[-1]


def number(x: object, decimals: int | None = None) -> str:
    """A plain number with 4 significant digits, or with the given number of decimals."""
    if not is_number(x):
        return NOTHING
    if abs(x) >= 1e9:
        return f"{x:.3e}"
    if decimals is None:
        decimals = _decimals(x)
    return f"{x:.{decimals}f}"


def count(n: object) -> str:
    """n = 240."""
    return f"n = {n}" if is_number(n) else "n unknown"


def percent(share: object, digits: int = 4) -> str:
    """0.95 is 95 %."""
    if not is_number(share):
        return NOTHING
    return f"{100 * share:.{digits}g} %"


def measured(
    value: object,
    low: object,
    high: object,
    n: object,
    level: object = USUAL_LEVEL,
) -> Number:
    """A time: 1.234 ms [1.220, 1.251], n = 240. The level is shown unless it is 95 %."""
    scale, unit = UNITS[0]
    if is_number(value):
        # 0 has no unit of its own
        widest = high if value == 0 and is_number(high) else value
        scale, unit = unit_of(widest)
    return _with_interval(value, low, high, n, level, scale, unit)


def quantity(
    value: object,
    low: object,
    high: object,
    n: object,
    unit: str,
    level: object = USUAL_LEVEL,
) -> Number:
    """A number in any unit: 97.35 % [96.94, 97.85], n = 6."""
    if unit == "s":
        return measured(value, low, high, n, level)
    return _with_interval(value, low, high, n, level, 1.0, unit)


def ratio(
    value: object,
    low: object,
    high: object,
    n: object,
    level: object = USUAL_LEVEL,
) -> Number:
    """A ratio of costs: 1.052 × [1.047, 1.058], n = 240."""
    return _with_interval(value, low, high, n, level, 1.0, "×")


def _with_interval(
    value: object,
    low: object,
    high: object,
    n: object,
    level: object,
    scale: float,
    unit: str,
) -> Number:
    """The number in this unit; "refused" in its place if the value or a bound is missing."""
    if not (is_number(value) and is_number(low) and is_number(high)):
        return Number("refused", n=count(n))
    scaled = value / scale
    low = low / scale
    high = high / scale
    decimals = _decimals(scaled)
    if low < high:
        decimals = _decimals_that_separate(low, high, decimals)
    value_text = number(scaled, decimals)
    low_text = number(low, decimals)
    high_text = number(high, decimals)
    interval = f"[{low_text}, {high_text}]"
    if level != USUAL_LEVEL:
        interval += f" at {percent(level)}"
    return Number(f"{value_text} {unit}".rstrip(), interval, count(n))


def _decimals_that_separate(low: float, high: float, decimals: int) -> int:
    """At least this many decimals, and enough that an interval is not printed as if it had no width; at most 9."""
    while decimals < 9 and number(low, decimals) == number(high, decimals):
        decimals += 1
    return decimals


def _decimals(x: float, digits: int = 4) -> int:
    """How many decimals show x with this many significant digits."""
    if x == 0:
        return 0
    more_digits = digits - 1
    _, _, exponent = f"{abs(x):.{more_digits}e}".partition("e")
    decimals = more_digits - int(exponent)
    return min(max(0, decimals), 12)


def table(headers: Row, rows: Rows, align: str = "") -> str:
    """A Markdown table with aligned columns; align holds l, r or t per column (l where it is too short)."""
    align = align.ljust(len(headers), "l")
    head, *body = _escaped([headers, *rows])
    widths = _column_widths([head, *body])
    lines = [_line(head, widths, align), _rule(widths, align)]
    for row in body:
        lines.append(_line(row, widths, align))
    return "\n".join(lines) + "\n"


def _rule(widths: Sequence[int], align: str) -> str:
    """The line of dashes below the headers; a colon at its end aligns a column to the right."""
    dashes = []
    for width, side in zip(widths, align, strict=True):
        if side == "r":
            dashes.append("-" * (width - 1) + ":")
        else:
            dashes.append("-" * width)
    return _joined(dashes)


def fitted(headers: Row, rows: Rows, align: str, most: int) -> list[Part]:
    """The table in parts of at most `most` characters of width: whole, wrapped, transposed, or cut between columns.

    If that is enough, intervals go into a line of their own below their value, so that rows stay together. Columns
    marked t in `align` are prose, which is wrapped if the table is too wide. Every part of a table that is cut repeats
    the first column, or shows row numbers if the first column is too wide or does not name its row. Cells that
    are still too wide are wrapped between words; a single long word (a path) is never broken.
    """
    align = align.ljust(len(headers), "l")
    if _table_width(headers, rows) <= most:
        return [(headers, rows, align)]
    if wrapped := _with_wrapped_prose(headers, rows, align, most):
        return [(headers, wrapped, align)]
    if narrow := _with_narrow_columns(headers, rows, most):
        return [(headers, narrow, align)]
    transposed = [list(column) for column in zip(headers, *rows, strict=True)]
    first, *others = transposed
    if len(rows) <= 2 and _table_width(first, others) <= most:
        return [(first, others, "")]
    if not _first_column_names_rows(rows, most // 3):
        headers = ["#", *headers]
        rows = [[str(i), *row] for i, row in enumerate(rows, 1)]
        align = "r" + align
    return _cut(headers, rows, align, most)


def _first_column_names_rows(rows: Rows, most: int) -> bool:
    """Whether the cells of the first column are distinct and short enough to be repeated."""
    names = [row[0] for row in rows]
    if len(set(names)) < len(names):
        return False
    return max(map(_width, names), default=0) <= most


def _with_wrapped_prose(
    headers: Row, rows: Rows, align: str, most: int
) -> list[list[str]] | None:
    """The rows with their prose wrapped so that they fit; None without prose, or with too little room for it."""
    prose = [i for i, mark in enumerate(align) if mark == "t"]
    others = [i for i, mark in enumerate(align) if mark != "t"]
    if not prose:
        return None
    taken = 1
    if others:
        taken = _table_width(*_columns(headers, rows, others))
    room = (most - taken) // len(prose) - 3
    if room < LEAST_PROSE:
        return None
    rooms = [most] * len(headers)
    for i in prose:
        rooms[i] = room
    lines = _wrapped(rows, rooms)
    if _table_width(headers, lines) > most:
        return None
    return lines


def _with_narrow_columns(headers: Row, rows: Rows, most: int) -> list[list[str]] | None:
    """The rows with cells wrapped so that the table fits, an interval below its value; None if rows get too long."""
    widths = _column_widths(_escaped([headers, *rows]))
    rooms = list(widths)
    lines = list(map(list, rows))
    while _table_width(headers, lines) > most:
        column = _widest_to_narrow(headers, rows, rooms)
        if column is None:
            return None
        rooms[column] -= 1
        lines = _broken(rows, rooms)
    if len(lines) > MOST_LINES * len(rows):
        return None
    return lines


def _widest_to_narrow(headers: Row, rows: Rows, rooms: Sequence[int]) -> int | None:
    """The widest column that can still lose a character, the names of the rows last; None if there is none."""
    others = sorted(range(1, len(rooms)), key=lambda i: (-rooms[i], i))
    for column in [*others, 0]:
        words = [headers[column]]
        for row in rows:
            words += _unbreakable(row[column])
        if max(map(_width, words)) < rooms[column]:
            return column
    return None


def _broken(rows: Rows, rooms: Sequence[int]) -> list[list[str]]:
    """The rows in lines; a number that is too wide has its interval in a line of its own."""
    lines: list[list[str]] = []
    for row in rows:
        cells = []
        for cell, room in zip(row, rooms, strict=True):
            cells.append(_cell_lines(cell, room))
        for line in itertools.zip_longest(*cells, fillvalue=""):
            lines.append(list(line))
    return lines


def _cell_lines(cell: str, room: int) -> list[str]:
    if _width(cell) <= room:
        return [cell]
    lines: list[str] = []
    for part in _unbreakable(cell):
        joined = f"{lines[-1]} {part}" if lines else part
        if lines and _width(joined) <= room and not part.startswith("["):
            lines[-1] = joined
        else:
            lines.append(part)
    return lines


def _unbreakable(cell: str) -> list[str]:
    """The parts of a cell that stay in one line: words, intervals, code, a value with its unit, n with its number."""
    return UNBREAKABLE.findall(cell) or [cell]


def _cut(headers: Row, rows: Rows, align: str, most: int) -> list[Part]:
    parts: list[Part] = []
    for group in _column_groups(headers, rows, most):
        part_headers, part_rows = _columns(headers, rows, group)
        names = [row[0] for row in [part_headers, *part_rows]]
        widest_name = max(map(_width, names))
        room = max(20, most - widest_name - 7)
        rooms = [room] * len(group)
        part_align = "".join(align[i] for i in group)
        parts.append((part_headers, _wrapped(part_rows, rooms), part_align))
    return parts


def _column_groups(headers: Row, rows: Rows, most: int) -> list[list[int]]:
    """The columns of each part of a cut table: the first one, and as many others as fit beside it."""
    groups: list[list[int]] = []
    for column in range(1, len(headers)):
        if groups:
            extended = [*groups[-1], column]
            if _table_width(*_columns(headers, rows, extended)) <= most:
                groups[-1] = extended
                continue
        groups.append([0, column])
    return groups


def _columns(
    headers: Row, rows: Rows, indices: Sequence[int]
) -> tuple[list[str], list[list[str]]]:
    """The headers and rows of these columns alone."""
    chosen = []
    for row in [headers, *rows]:
        chosen.append([row[i] for i in indices])
    return chosen[0], chosen[1:]


def _wrapped(rows: Rows, rooms: Sequence[int]) -> list[list[str]]:
    """The rows with every cell wrapped to the room of its column, each in as many lines as its longest cell needs."""
    lines: list[list[str]] = []
    for row in rows:
        cells = []
        for cell, room in zip(row, rooms, strict=True):
            wrapped = textwrap.wrap(cell, room, break_long_words=False)
            cells.append(wrapped or [""])
        for line in itertools.zip_longest(*cells, fillvalue=""):
            lines.append(list(line))
    return lines


def _table_width(headers: Row, rows: Rows) -> int:
    widths = _column_widths(_escaped([headers, *rows]))
    return sum(widths) + 3 * len(widths) + 1


def _column_widths(rows: Rows) -> list[int]:
    widths = []
    for column in zip(*rows, strict=True):
        widest = max(map(_width, column))
        widths.append(max(LEAST_WIDTH, widest))
    return widths


def _line(row: Row, widths: Sequence[int], align: str) -> str:
    padded = []
    for text, width, side in zip(row, widths, align, strict=True):
        padding = " " * (width - _width(text))
        if side == "r":
            padded.append(padding + text)
        else:
            padded.append(text + padding)
    return _joined(padded)


def _joined(cells: Sequence[str]) -> str:
    content = " | ".join(cells)
    return f"| {content} |"


def _escaped(rows: Rows) -> list[list[str]]:
    """The cells on one line each, with bars escaped."""
    escaped = []
    for row in rows:
        escaped.append([_cell(text) for text in row])
    return escaped


def _cell(text: str) -> str:
    words = text.replace("|", "\\|").split()
    return " ".join(words)


def _width(text: str) -> int:
    """How many columns a terminal needs for the text."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 1
