"""The ledger: every run that was started, finished or not; rows are only added, and chained by hashes."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..bundle.encoding import ZERO, link
from ..errors import Deep500Error, one_line
from ..home import home, make_folder

_FORMAT = 1
_BUSY_S = 10.0  # how long to wait for other processes, each of which needs milliseconds
_TABLE = """CREATE TABLE events (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('started', 'finished', 'failed')), at TEXT NOT NULL,
    folder TEXT, kind TEXT, plan TEXT, manifest TEXT, detail TEXT, pid INTEGER, boot TEXT, start INTEGER,
    previous TEXT NOT NULL, hash TEXT NOT NULL)"""
_FORBIDDEN = {
    "no_update": "UPDATE ON events",
    "no_delete": "DELETE ON events",
    # INSERT OR REPLACE takes a row away without firing a DELETE trigger
    "no_replace": "INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)",
}
_TRIGGERS = {
    name: f"CREATE TRIGGER {name} BEFORE {what} BEGIN SELECT RAISE(ABORT, 'append only'); END"
    for name, what in _FORBIDDEN.items()
}
_CONTENT = ["folder", "kind", "plan", "manifest", "detail", "pid", "boot", "start"]
_COLUMNS = ", ".join(["id", "run", "event", "at", *_CONTENT, "previous", "hash"])

Row = dict[str, object]


@dataclass(frozen=True)
class Run:
    """One run; its state is "finished", "failed", "running" or "unfinished" (it was killed)."""

    run: str
    state: str
    kind: str
    folder: str
    plan: str
    started: str
    ended: str | None
    manifest: str | None
    detail: str


class Ledger:
    """The ledger in one SQLite file (the user's own if none is named), shared by any number of processes."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = (
            Path(path) if path is not None else home() / "ledger.sqlite"
        ).absolute()

    def started(self, folder: str | os.PathLike[str], kind: str, plan_hash: str) -> str:
        """Note that this process starts a run; returns the run's name, which sorts by time."""
        boot, start = _process(os.getpid())
        with self._writing() as database:
            moment = datetime.now(UTC)
            while _events(database, name := f"{moment:%Y%m%d-%H%M%S-%f}"):
                moment += timedelta(microseconds=1)
            row: Row = {
                "folder": _text(os.fspath(folder)),
                "kind": _text(kind),
                "plan": plan_hash,
            }
            _insert(
                database,
                name,
                "started",
                row | {"pid": os.getpid(), "boot": boot, "start": start},
            )
        return name

    def finished(self, run: str, manifest_hash: str | None) -> None:
        """Note that a run finished, and the hash of the manifest it left."""
        self._end(run, "finished", {"manifest": manifest_hash})

    def failed(self, run: str, detail: str) -> None:
        """Note that a run ended without a result, and why."""
        self._end(run, "failed", {"detail": _text(detail)})

    def _end(self, run: str, event: str, row: Row) -> None:
        with self._writing() as database:
            known = _events(database, run)
            if known != ["started"]:
                said = ", ".join(known) or "nothing"
                raise Deep500Error(
                    f"run {run} cannot be noted as {event}: the ledger has {said} of it"
                )
            _insert(database, run, event, row)

    def runs(self) -> list[Run]:
        """All runs, the newest first."""
        starts: dict[object, Row] = {}
        ends: dict[object, Row] = {}
        for row in self._read()[0]:
            (starts if row["event"] == "started" else ends).setdefault(row["run"], row)
        return [_run(row, ends.get(name)) for name, row in reversed(starts.items())]

    def problems(self) -> list[str]:
        """One line for everything that was changed, removed or slipped in; empty when all holds."""
        rows, triggers = self._read()
        found = (
            ["the triggers that forbid changes are not there"]
            if rows and triggers != _TRIGGERS
            else []
        )
        previous: object = ZERO
        for number, row in enumerate(rows, 1):
            if row["id"] != number or row["previous"] != previous:
                found.append(f"row {number} does not follow from the row before it")
            elif row["hash"] != _hash(row):
                found.append(f"row {number} was changed, its hash says")
            previous = row["hash"]
        return [f"{self.path}: {what}" for what in found]

    def _read(self) -> tuple[list[Row], dict[str, str]]:
        """All rows and triggers; a ledger that nobody has written to is an empty one."""
        if not self.path.exists():
            return [], {}
        with self._database() as database:
            if not self._has_table(database):
                return [], {}
            database.row_factory = sqlite3.Row
            rows = [
                dict(row)
                for row in database.execute(
                    f"SELECT {_COLUMNS} FROM events ORDER BY id"
                )
            ]
            query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            return rows, {row["name"]: row["sql"] for row in database.execute(query)}

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other process comes between: all of it or nothing."""
        make_folder(self.path.parent, "DEEP500_HOME")
        with self._database() as database:
            database.execute("BEGIN IMMEDIATE")
            if not self._has_table(database):
                for statement in (
                    _TABLE,
                    *_TRIGGERS.values(),
                    f"PRAGMA user_version = {_FORMAT}",
                ):
                    database.execute(statement)
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(
                sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)
            ) as database:
                database.execute("PRAGMA trusted_schema = OFF")
                yield database
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise Deep500Error(
                    f"{self.path} is in use since {_BUSY_S:g} s or more: try again"
                ) from None
            advice = "repair it, move it away, or set DEEP500_HOME"
            raise Deep500Error(
                f"the ledger {self.path} cannot be used ({one_line(error)}): {advice}"
            ) from None

    def _has_table(self, database: sqlite3.Connection) -> bool:
        """Whether it is a ledger rather than empty; a Deep500Error when it is neither, or too new."""
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            known = (
                f"ledger format {version} is newer than this Deep500 reads ({_FORMAT})"
            )
            raise Deep500Error(f"{known}: upgrade deep500-bench")
        if (
            version < _FORMAT
            and database.execute("SELECT 1 FROM sqlite_master").fetchone()
        ):
            raise Deep500Error(
                f"{self.path} is a database, but no ledger of Deep500: set DEEP500_HOME"
            )
        return bool(version == _FORMAT)


def _events(database: sqlite3.Connection, run: str) -> list[str]:
    found = database.execute(
        "SELECT event FROM events WHERE run = ? ORDER BY id", [run]
    )
    return [event for (event,) in found]


def _insert(database: sqlite3.Connection, run: str, event: str, content: Row) -> None:
    last = database.execute(
        "SELECT id, hash FROM events ORDER BY id DESC LIMIT 1"
    ).fetchone() or (
        0,
        ZERO,
    )
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    row: Row = {"id": last[0] + 1, "run": run, "event": event, "at": now}
    row |= dict.fromkeys(_CONTENT) | content | {"previous": last[1]}
    row["hash"] = _hash(row)
    database.execute(
        f"INSERT INTO events ({_COLUMNS}) VALUES (:{_COLUMNS.replace(', ', ', :')})",
        row,
    )


def _hash(row: Row) -> str | None:
    """What the row's hash must be: the rule of a bundle's chain, over its other columns."""
    content = {
        name: value for name, value in row.items() if name not in ("previous", "hash")
    }
    try:
        return link(str(row["previous"]), content)[0]
    except Deep500Error:
        return None  # something in it is no text and no number: nobody wrote that here


def _run(start: Row, end: Row | None) -> Run:
    return Run(
        run=str(start["run"]),
        state=str(end["event"]) if end else _state_of_unended(start),
        kind=str(start["kind"]),
        folder=str(start["folder"]),
        plan=str(start["plan"]),
        started=str(start["at"]),
        ended=str(end["at"]) if end else None,
        manifest=str(end["manifest"]) if end and end["manifest"] is not None else None,
        detail=str(end["detail"] or "") if end else "",
    )


def _state_of_unended(start: Row) -> str:
    if not start["boot"] or not isinstance(start["pid"], int):
        return "unfinished"
    alive = _process(start["pid"]) == (start["boot"], start["start"])
    return "running" if alive else "unfinished"


def _process(pid: int) -> tuple[str, int]:
    """The machine's boot and the process's start in it, which no later process shares; ("", 0) if gone."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (
        OSError
    ):  # it is gone, or this system has no /proc: then nobody is called running
        return "", 0
    return ("", 0) if fields[0] in (b"Z", b"X") else (boot, int(fields[19]))


def _text(value: str) -> str:
    """Text that SQLite can keep: a path may hold bytes that are not UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode()
