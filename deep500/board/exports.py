"""A board for programs: all of it as JSON, and its rows as CSV."""

import csv
import io

from ..bundle import canonical
from ..schema import encoded
from .document import Board, League, Row

HEADERS = (
    "league",
    "subject",
    "division",
    "machine",
    "entry",
    "place",
    "verdict",
    "system",
    "date",
    "score",
    "value",
    "low",
    "high",
    "n",
    "level",
    "unit",
    "target",
    "manifest",
    "series",
)
FORMULA_STARTS = "=+-@\t\r"


def board_json(board: Board) -> bytes:
    return canonical(encoded(board))


def board_csv(board: Board) -> str:
    """One line for every score of every entry."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADERS)
    for league in board.leagues:
        for row in league.rows:
            writer.writerows(_lines(league, row))
    return text.getvalue()


def _lines(league: League, row: Row) -> list[list[object]]:
    lines: list[list[object]] = []
    for score in row.scores:
        told = [
            league.key,
            league.subject,
            league.division,
            league.machine,
            row.entry,
            row.place,
            row.verdict,
            row.system,
            row.date,
            score.name,
        ]
        numbers = [score.value, score.low, score.high, score.n, score.level]
        rest = [score.unit, score.target, row.manifest, row.series]
        lines.append([*map(_harmless, told), *numbers, *rest])
    return lines


def _harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(tuple(FORMULA_STARTS)) else text
