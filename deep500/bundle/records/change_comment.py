"""A comment for a pull request: what changed between two results, and nothing at all if nothing did."""

from collections import Counter

from ...reports.blocks import Table
from ...reports.markdown import as_table, bullets, inline, join
from ...reports.text import clean, flat
from ...schema import encoded
from .bundle_comparison import BundleComparison
from .control import DIFFERENT, Control


def change_comment(compared: BundleComparison, control: Control | None = None) -> str:
    """Markdown about what differs, is lost or cannot be trusted; empty if there is nothing of that kind."""
    answers = encoded(compared.contrast.data).get("comparisons", [])
    verdicts = {str(each["name"]): str(each["verdict"]) for each in answers}
    changed = {name for name, word in verdicts.items() if word in DIFFERENT}
    untrusted = _untrusted(compared, control)
    lost = [clean(sentence) for sentence in compared.lost]
    if not (changed or untrusted or lost):
        return ""
    parts = [bullets(untrusted), _headline(compared), *_tables(compared, changed)]
    parts.append(bullets(lost))
    others = Counter(word for name, word in verdicts.items() if name not in changed)
    if others:
        counted = ", ".join(f"{n} {word}" for word, n in sorted(others.items()))
        parts.append(f"The others: {counted}.")
    return join(parts) + "\n"


def _untrusted(compared: BundleComparison, control: Control | None) -> list[str]:
    """Why nothing should be decided by this comparison."""
    lines = []
    sides = {"A": compared.problems_of_a, "B": compared.problems_of_b}
    for side, problems in sides.items():
        if problems:
            lines.append(f"{side} does not verify: {clean(problems[0])}")
    if control is not None and not control.holds:
        lines.append(clean(control.sentence))
    return lines


def _headline(compared: BundleComparison) -> str:
    answer = compared.contrast.answer
    return f"**{inline(answer.sentence)}**" if answer else ""


def _tables(compared: BundleComparison, changed: set[str]) -> list[str]:
    """The tables of the comparison, with the rows of what changed."""
    names = {clean(name) for name in changed}
    tables = []
    for block in compared.contrast.blocks:
        if isinstance(block, Table):
            rows = [row for row in block.rows if "".join(flat(row[0])) in names]
            tables.append(as_table(Table(block.headers, rows, block.align)))
    return tables
