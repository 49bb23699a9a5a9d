"""The ledger of all runs that were started, finished or not: an append-only table whose rows form a hash chain."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...errors import Deep500Error, one_line
from ...home import home, make_folder
from ..encoding import ZERO, link

_FORMAT = 1
_BUSY_S = 10.0  # how long to wait for other processes, each of which takes milliseconds
_TABLE = """CREATE TABLE events (
    id INTEGER PRIMARY KEY, run TEXT NOT NULL,
    event TEXT NOT NULL CHECK (event IN ('started', 'finished', 'failed')), at TEXT NOT NULL,
    folder TEXT, kind TEXT, plan TEXT, manifest TEXT, detail TEXT, pid INTEGER, boot TEXT, start INTEGER,
    previous TEXT NOT NULL, hash TEXT NOT NULL)"""
_FORBIDDEN = {
    "no_update": "UPDATE ON events",
    "no_delete": "DELETE ON events",
    # INSERT OR REPLACE removes a row without firing a DELETE trigger
    "no_replace": "INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = NEW.id)",
}
_TRIGGERS = {
    name: f"CREATE TRIGGER {name} BEFORE {operation} BEGIN SELECT RAISE(ABORT, 'append only'); END"
    for name, operation in _FORBIDDEN.items()
}
_CONTENT = [
    "folder",
    "kind",
    "plan",
    "manifest",
    "detail",
    "pid",
    "boot",
    "start",
]
_COLUMNS = ", ".join(["id", "run", "event", "at", *_CONTENT, "previous", "hash"])

_INTERRUPTED = "interrupted: "

Row = dict[str, object]


@dataclass(frozen=True)
class LedgerRun:
    """One run; its state is "finished", "failed", "interrupted", "running" or "unfinished" (it was killed)."""

    run: str
    state: str
    kind: str
    folder: str
    plan: str
    started: str
    ended: str | None
    manifest: str | None
    detail: str
    # what it is a run of, such as the hash of a recipe; empty if it did not say
    subject: str = ""


class Ledger:
    """The ledger in an SQLite file (by default the user's), shared by any number of processes."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if path is None:
            path = home() / "ledger.sqlite"
        self.path = Path(path).absolute()

    def started(
        self,
        folder: str | os.PathLike[str],
        kind: str,
        plan_hash: str,
        subject: str = "",
    ) -> str:
        """Record that this process starts a run; returns the run's name, which sorts by time."""
        pid = os.getpid()
        boot, start = _process(pid)
        with self._writing() as database:
            name = _unused_name(database)
            row: Row = {
                "folder": _text(os.fspath(folder)),
                "kind": _text(kind),
                "plan": plan_hash,
                "detail": _text(subject) or None,
                "pid": pid,
                "boot": boot,
                "start": start,
            }
            _insert(database, name, "started", row)
        return name

    def finished(
        self, run: str, manifest_hash: str | None, plan_hash: str | None = None
    ) -> None:
        """Record that a run finished, with the hashes of its manifest and of its plan as it was completed."""
        row: Row = {"manifest": manifest_hash, "plan": plan_hash}
        self._end(run, "finished", row)

    def failed(self, run: str, detail: str) -> None:
        """Record that a run ended without a result, and why."""
        self._end(run, "failed", {"detail": _text(detail)})

    def interrupted(self, run: str, detail: str) -> None:
        """Record that a user or a signal ended a run."""
        # tables of format 1 take no event of another name: it is told from failures by its detail
        self._end(run, "failed", {"detail": _text(f"{_INTERRUPTED}{detail}")})

    def _end(self, run: str, event: str, row: Row) -> None:
        with self._writing() as database:
            events = _events(database, run)
            if events != ["started"]:
                recorded = ", ".join(events) or "nothing"
                raise Deep500Error(
                    f"run {run} cannot be noted as {event}: the ledger has {recorded} of it"
                )
            _insert(database, run, event, row)

    def runs(self) -> list[LedgerRun]:
        """All runs, the newest first."""
        starts: dict[object, Row] = {}
        ends: dict[object, Row] = {}
        rows, _ = self._read()
        for row in rows:
            if row["event"] == "started":
                starts.setdefault(row["run"], row)
            else:
                ends.setdefault(row["run"], row)
        return [_run(row, ends.get(name)) for name, row in reversed(starts.items())]

    def attempts(self, subject: str, besides: str) -> dict[str, int]:
        """How many other runs of a subject there are, by their states."""
        states = [
            run.state
            for run in self.runs()
            if run.subject == subject and run.run != besides
        ]
        return {state: states.count(state) for state in sorted({*states})}

    def problems(self) -> list[str]:
        """One line for everything that was changed, removed or inserted; empty if the ledger is intact."""
        rows, triggers = self._read()
        problems = []
        if rows and triggers != _TRIGGERS:
            problems.append("the triggers that forbid changes are not there")
        previous: object = ZERO
        for number, row in enumerate(rows, 1):
            if row["id"] != number or row["previous"] != previous:
                problems.append(f"row {number} does not follow from the row before it")
            elif row["hash"] != _hash(row):
                problems.append(f"row {number} was changed, its hash says")
            previous = row["hash"]
        return [f"{self.path}: {problem}" for problem in problems]

    def _read(self) -> tuple[list[Row], dict[str, str]]:
        """All rows and triggers; both are empty if the ledger does not exist yet."""
        if not self.path.exists():
            return [], {}
        with self._database() as database:
            if not self._has_table(database):
                return [], {}
            database.row_factory = sqlite3.Row
            select_events = f"SELECT {_COLUMNS} FROM events ORDER BY id"
            rows = [dict(row) for row in database.execute(select_events)]
            select_triggers = (
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            )
            triggers = {}
            for row in database.execute(select_triggers):
                triggers[row["name"]] = row["sql"]
            return rows, triggers

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """An exclusive transaction, which is committed as a whole or not at all."""
        make_folder(self.path.parent, "DEEP500_HOME")
        with self._database() as database:
            database.execute("BEGIN IMMEDIATE")
            if not self._has_table(database):
                database.execute(_TABLE)
                for statement in _TRIGGERS.values():
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {_FORMAT}")
            yield database
            database.execute("COMMIT")

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_S, isolation_level=None
            )
            with closing(connection) as database:
                database.execute("PRAGMA trusted_schema = OFF")
                yield database
        except sqlite3.Error as error:
            primary_code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if primary_code == sqlite3.SQLITE_BUSY:
                raise Deep500Error(
                    f"{self.path} is in use since {_BUSY_S:g} s or more: try again"
                ) from None
            cause = one_line(error)
            advice = "repair it, move it away, or set DEEP500_HOME"
            raise Deep500Error(
                f"the ledger {self.path} cannot be used ({cause}): {advice}"
            ) from None

    def _has_table(self, database: sqlite3.Connection) -> bool:
        """Whether the database has the table; raises a Deep500Error if it is not a ledger, or of a newer format."""
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise Deep500Error(
                f"ledger format {version} is newer than this Deep500 reads ({_FORMAT}): upgrade deep500-bench"
            )
        if version < _FORMAT and not _is_empty(database):
            raise Deep500Error(
                f"{self.path} is a database, but no ledger of Deep500: set DEEP500_HOME"
            )
        return bool(version == _FORMAT)


def _is_empty(database: sqlite3.Connection) -> bool:
    cursor = database.execute("SELECT 1 FROM sqlite_master")
    return cursor.fetchone() is None


def _unused_name(database: sqlite3.Connection) -> str:
    """The current time as the name of a run, moved by microseconds if another run has it."""
    moment = datetime.now(UTC)
    name = f"{moment:%Y%m%d-%H%M%S-%f}"
    while _events(database, name):
        moment += timedelta(microseconds=1)
        name = f"{moment:%Y%m%d-%H%M%S-%f}"
    return name


def _events(database: sqlite3.Connection, run: str) -> list[str]:
    """The events of a run, in order."""
    query = "SELECT event FROM events WHERE run = ? ORDER BY id"
    return [event for (event,) in database.execute(query, [run])]


def _insert(database: sqlite3.Connection, run: str, event: str, content: Row) -> None:
    query = "SELECT id, hash FROM events ORDER BY id DESC LIMIT 1"
    last_row = database.execute(query).fetchone()
    last_id, last_hash = last_row or (0, ZERO)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    row: Row = {"id": last_id + 1, "run": run, "event": event, "at": now}
    row |= dict.fromkeys(_CONTENT)
    row |= content
    row["previous"] = last_hash
    row["hash"] = _hash(row)
    placeholders = ":" + _COLUMNS.replace(", ", ", :")
    database.execute(f"INSERT INTO events ({_COLUMNS}) VALUES ({placeholders})", row)


def _hash(row: Row) -> str | None:
    """The hash that the row must have, computed from its other columns as in the hash chain of a bundle."""
    content = dict(row)
    for name in ("previous", "hash"):
        content.pop(name, None)
    try:
        return link(str(row["previous"]), content)[0]
    except Deep500Error:
        return (
            None  # a value is neither text nor a number, which this class never writes
        )


def _run(start: Row, end: Row | None) -> LedgerRun:
    """The run with this start, and this end if it has one."""
    name, started = str(start["run"]), str(start["at"])
    kind, folder, plan = (
        str(start["kind"]),
        str(start["folder"]),
        str(start["plan"]),
    )
    subject = str(start.get("detail") or "")
    if not end:
        state = _state_of_unended(start)
        return LedgerRun(
            name, state, kind, folder, plan, started, None, None, "", subject
        )
    plan = str(end["plan"] or plan)
    state, ended = str(end["event"]), str(end["at"])
    manifest = None
    if end["manifest"] is not None:
        manifest = str(end["manifest"])
    detail = str(end["detail"] or "")
    if state == "failed" and detail.startswith(_INTERRUPTED):
        state = "interrupted"
        detail = detail.removeprefix(_INTERRUPTED)
    return LedgerRun(
        name,
        state,
        kind,
        folder,
        plan,
        started,
        ended,
        manifest,
        detail,
        subject,
    )


def _state_of_unended(start: Row) -> str:
    if not start["boot"] or not isinstance(start["pid"], int):
        return "unfinished"
    is_alive = _process(start["pid"]) == (start["boot"], start["start"])
    return "running" if is_alive else "unfinished"


def _process(pid: int) -> tuple[str, int]:
    """The id of the machine's boot and the start time of the process, a unique pair; ("", 0) if it has ended."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except (
        OSError
    ):  # it has ended, or this system has no /proc: then no run counts as running
        return "", 0
    fields = status.rpartition(b")")[2].split()
    state, start_time = fields[0], fields[19]
    if state in (b"Z", b"X"):
        return "", 0
    return boot, int(start_time)


def _text(value: str) -> str:
    """Text that SQLite can store: a path may have bytes that are not UTF-8."""
    return value.encode("utf-8", "backslashreplace").decode()
