"""A board as one page: the answers first, then a table for every league, the series, and what became of every entry."""

from collections.abc import Sequence

from ..contracts.standing import Score
from ..reports.blocks import Banner, Picture, Table
from ..reports.markup import (
    banner,
    bullets,
    details,
    escaped,
    figure,
    inline,
    page,
    section,
    table,
)
from ..reports.tables import NOTHING, Number, count, percent
from ..reports.text import Code, Link, Text, VerdictWord, listed
from .change_log import Change
from .document import Board, League, ResultSeries, Row
from .filters import FORM, SCRIPT, STYLE

HOW_TO_READ = (
    "Every pair of a league is compared as `d5 compare` does, and all pairs of a league are one family (Holm): at "
    "{level}, no verdict of a table is wrong. A place is 1 plus the number of entries that are better, up to the "
    "number of entries less those that are worse. Entries that cannot be told apart share places, and stand in the "
    "order of their names. Differences up to {margin} do not count."
)
UNBEATEN = "no entry has both a better {time} and a better {quality}, by the medians"
MOST_CHANGES = 1000  # of the log, on the page; all are in its file

Pictures = dict[str, Sequence[Picture]]  # by the key of a league or a series


def board_page(board: Board, pictures: Pictures) -> str:
    """The page of the whole board."""
    body = banner(_answer(board))
    body += _places(board)
    body += FORM
    for league in board.leagues:
        drawn = pictures.get(league.key, ())
        body += _league(league, board, drawn)
    body += _series(board.series, pictures)
    body += _log(board.log)
    body += _about(board)
    return page("Deep500 board", board.title, body, STYLE, SCRIPT)


def _answer(board: Board) -> Banner:
    """What the whole board says: the only answer, or how many leagues have a winner."""
    entries = sum(len(league.rows) for league in board.leagues)
    figures: list[tuple[Text, Text]] = [
        ("entries", str(entries)),
        ("leagues", str(len(board.leagues))),
        ("series", str(len(board.series))),
    ]
    if not board.leagues:
        headline = "nothing is on this board"
    elif len(board.leagues) == 1:
        headline = board.leagues[0].answer
    else:
        winners = sum(_has_winner(league) for league in board.leagues)
        have = "has" if winners == 1 else "have"
        headline = f"{winners} of {len(board.leagues)} leagues {have} a winner"
    status = f"at {percent(board.level)}, differences up to {percent(board.margin)} do not count"
    return Banner(headline, headline, figures=figures, status=status)


def _has_winner(league: League) -> bool:
    """Whether one entry is ahead of all others; one that is alone is ahead of nobody."""
    return any(row.ahead_of and row.place == "1" for row in league.rows)


def _places(board: Board) -> str:
    """The answer of every league, if there are several."""
    if len(board.leagues) < 2:
        return ""
    lines: list[Text] = []
    for league in board.leagues:
        link = Link(_title(league), f"#league-{league.key}")
        lines.append([link, ": ", league.answer])
    return bullets(lines)


def _title(league: League) -> str:
    return f"{league.subject} · {league.division} · {league.machine}"


def _league(league: League, board: Board, drawn: Sequence[Picture]) -> str:
    content = f"<p>{inline(league.answer)}</p>\n"
    attributes = [_attributes(league, row) for row in league.rows]
    content += table(_table(league), attributes)
    notes: list[Text] = [
        f"{league.decided} of {league.pairs} pairs of ranked entries can be told apart."
    ]
    if league.quality:
        text = UNBEATEN.format(time=league.ranked_by, quality=league.quality)
        notes.append(f"Unbeaten: {text}.")
    content += bullets(notes)
    content += "".join(map(figure, drawn))
    title = escaped(_title(league))
    return (
        f'<section data-league="{escaped(league.key)}" id="league-{escaped(league.key)}">'
        f"<h2>{title}</h2>\n{content}</section>\n"
    )


def _attributes(league: League, row: Row) -> dict[str, str]:
    return {
        "data-entry": row.manifest[:16],
        "data-division": league.division,
        "data-machine": league.machine,
        "data-verdict": row.verdict,
    }


def _table(league: League) -> Table:
    chosen = [league.ranked_by, league.quality, league.cost]
    names = [name for name in chosen if name]
    headers = ["entry", "place", "verdict", *names]
    headers += ["date and software", "marks", "unbeaten", "files"]
    rows = []
    for row in league.rows:
        scores = [_score(row.score(name)) for name in names]
        cells: list[Text] = [
            [Link(row.entry, row.report), " ", Code(row.system)],
            _place(row, league),
            VerdictWord(row.verdict),
            *scores,
            _date_and_software(row),
            _marks(row),
            {True: "yes", False: "no", None: NOTHING}[row.unbeaten],
            _files(row),
        ]
        rows.append(cells)
    return Table(headers, rows)


def _date_and_software(row: Row) -> str:
    software = [f"{name} {version}" for name, version in row.versions.items()]
    return ", ".join([row.date[:10], *software])


def _place(row: Row, league: League) -> str:
    if not row.place:
        return "not ranked"
    ranked = sum(bool(other.place) for other in league.rows)
    return f"{row.place} of {ranked}"


def _score(score: Score | None) -> Text:
    """A score with its interval and n, which are kept apart for typesetting."""
    if score is None:
        return NOTHING
    value, bracket, rest = score.text.partition(" [")
    interval, comma, n = rest.rpartition(", n")
    if not bracket or not comma:
        return score.text
    return Number(value, f"[{interval}", f"n{n}")


def _marks(row: Row) -> Text:
    """How many marks `d5 verify` makes; the report has them in full."""
    if not row.marks:
        return "none"
    return Link(str(len(row.marks)), row.report)


def _files(row: Row) -> list[Text]:
    links: list[Text] = [Link("bundle", row.bundle)]
    if row.audit:
        links.append(Link("audit", row.audit))
    return listed(links)


def history_page(name: str, series: Sequence[ResultSeries], pictures: Pictures) -> str:
    """The series of one name as a page of their own, the newest answer first."""
    newest = max(series, key=lambda one: one.points[-1].date)
    headline = f"{newest.score}: {newest.answer}"
    figures: list[tuple[Text, Text]] = [("series", str(len(series)))]
    body = banner(Banner(headline, headline, figures=figures))
    body += _series(series, pictures)
    return page("Deep500 history", name, body)


def _series(series: Sequence[ResultSeries], pictures: Pictures) -> str:
    content = ""
    for one in series:
        name = f"{one.subject}, {one.system}, {one.machine}"
        body = f"<p>{inline([one.score, ': ', one.answer])}</p>\n"
        if one.differs:
            body += f"<p>{inline(split_sentence(one))}</p>"
        body += "".join(map(figure, pictures.get(one.key, ())))
        body += details("The results in the order of time", table(points_table(one)))
        content += section(name, body, 3)
    return section("Series", content)


def split_sentence(series: ResultSeries) -> str:
    """Why a series is not the continuation of the one before."""
    return (
        f"Another method than the series before it: {series.differs} changed. Both are never compared as if only time "
        "lay between them."
    )


def points_table(series: ResultSeries) -> Table:
    """The results of a series in the order of time."""
    rows: list[list[Text]] = []
    starts = {shift.after: shift.verdict for shift in series.shifts}
    for point in series.points:
        software = ", ".join(f"{name} {text}" for name, text in point.versions.items())
        change = starts.get(point.entry)
        mark: Text = VerdictWord(change) if change else NOTHING
        rows.append([point.entry, point.date, point.score.text, mark, software])
    return Table(["entry", "date", series.score, "from here on", "software"], rows)


def _log(changes: Sequence[Change]) -> str:
    rows: list[list[Text]] = []
    for change in reversed(changes[-MOST_CHANGES:]):
        rows.append(
            [
                change.entry,
                change.event,
                change.at,
                change.reason,
                change.rules,
                change.by,
                change.score or NOTHING,
            ]
        )
    headers = ["entry", "event", "when", "reason", "rules", "by", "score"]
    hidden = len(changes) - len(rows)
    more = f"<p>The {hidden} lines before are in the file.</p>" if hidden > 0 else ""
    return section("What became of every entry", table(Table(headers, rows)) + more)


def _about(board: Board) -> str:
    how = HOW_TO_READ.format(level=percent(board.level), margin=percent(board.margin))
    files: list[Text] = listed(
        [
            Link("board.json", "board.json"),
            Link("board.csv", "board.csv"),
            Link("board.jsonl", "board.jsonl"),
        ]
    )
    lines: list[Text] = [
        how,
        ["All rows and the log, for programs: ", files, "."],
        f"The last line of the log has the hash {board.log_head}; {count(len(board.log))} lines.",
    ]
    return f"<footer>{bullets(lines)}</footer>"
