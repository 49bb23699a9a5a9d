"""Tables of a report as LaTeX (booktabs), everything from data escaped."""

import re

from .blocks import Table
from .tables import Number
from .text import Code, Text, clean

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "µ": r"\textmu{}",
    "–": "--",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "±": r"$\pm$",
}
_SPECIAL = re.compile("|".join(map(re.escape, SPECIAL)))


def latex_table(table: Table) -> str:
    """A `tabular`; it needs the package booktabs."""
    columns = len(table.headers)
    align = table.align.replace("t", "l").ljust(columns, "l")
    lines = [rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
    lines.append(_row(table.headers) + r" \midrule")
    lines += [_row(row) for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _row(cells: object) -> str:
    assert isinstance(cells, list | tuple)
    return " & ".join(latex(cell) for cell in cells) + r" \\"


def latex(text: Text) -> str:
    """Text of any kind; a number keeps its value and its interval on one line."""
    if not isinstance(text, str):
        return "".join(map(latex, text))
    safe = _SPECIAL.sub(lambda match: SPECIAL[match[0]], clean(text))
    if isinstance(text, Code) and safe:
        return rf"\texttt{{{safe}}}"
    if isinstance(text, Number):
        return safe.replace(" ", "~")
    return safe
