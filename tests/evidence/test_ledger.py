"""The ledger remembers every run, from any number of processes, and notices when it was changed."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deep500.bundle.records import ledger as module
from deep500.bundle.records.ledger import Ledger
from deep500.errors import Deep500Error
from deep500.home import home


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_runs_come_back_newest_first_with_their_state(ledger: Ledger) -> None:
    assert ledger.runs() == [] and ledger.problems() == [] and not ledger.path.exists()
    names = [ledger.started(f"/results/{i}", "bench", "p" * 64) for i in range(3)]
    assert names == sorted(names) and len(set(names)) == 3
    ledger.finished(names[0], "m" * 64)
    ledger.failed(names[1], "it broke")
    last, failed, finished = ledger.runs()
    assert [run.run for run in (finished, failed, last)] == names
    assert (finished.state, finished.manifest, finished.folder) == (
        "finished",
        "m" * 64,
        "/results/0",
    )
    assert (failed.state, failed.detail, failed.manifest) == (
        "failed",
        "it broke",
        None,
    )
    assert (last.state, last.ended, last.kind, last.plan) == (
        "running",
        None,
        "bench",
        "p" * 64,
    )
    assert finished.ended is not None and finished.started <= finished.ended
    assert ledger.problems() == []


def test_a_run_ends_once_and_only_if_it_began(ledger: Ledger) -> None:
    run = ledger.started("/r", "bench", "p")
    ledger.finished(run, None)
    for again in (run, "nobody"):
        with pytest.raises(Deep500Error, match="cannot be noted as finished"):
            ledger.finished(again, "m")
        with pytest.raises(Deep500Error, match="cannot be noted as failed"):
            ledger.failed(again, "x")
    assert [r.state for r in ledger.runs()] == ["finished"] and ledger.problems() == []


def test_paths_and_details_that_are_not_utf8_are_kept_readable(ledger: Ledger) -> None:
    run = ledger.started(os.fsdecode(b"/r\xff"), "bench", "p")
    ledger.failed(run, "bad \udc80 text")
    (found,) = ledger.runs()
    assert (found.folder, found.detail) == (
        r"/r\udcff",
        r"bad \udc80 text",
    ) and ledger.problems() == []


def test_a_killed_run_is_unfinished_and_a_reused_pid_is_not_running(
    ledger: Ledger,
) -> None:
    code = f"""
import sys, time
from deep500.bundle.records.ledger import Ledger
Ledger({str(ledger.path)!r}).started("/r", "bench", "p")
print("begun", flush=True)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout and process.stdout.readline() == b"begun\n"
    assert ledger.runs()[0].state == "running"
    process.send_signal(signal.SIGKILL)
    # dead, but still in the process table
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert ledger.runs()[0].state == "unfinished"
    process.communicate()
    assert ledger.runs()[0].state == "unfinished" and ledger.problems() == []
    boot, start = module._process(os.getpid())
    row: module.Row = dict.fromkeys(["run", "kind", "folder", "plan", "at"]) | {
        "pid": os.getpid()
    }
    states = [module._run(row | {"boot": b, "start": s}, None).state for b, s in
              [(boot, start), (boot, start - 1), ("another boot", start), ("", 0)]]  # fmt: skip
    assert states == ["running", "unfinished", "unfinished", "unfinished"]


def tamper(ledger: Ledger, *statements: str) -> None:
    with closing(sqlite3.connect(ledger.path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET detail = 'fine' WHERE id = 2",
        "DELETE FROM events WHERE id = 4",
        "INSERT OR REPLACE INTO events SELECT 1, run, event, at, folder, kind, plan, manifest, detail, pid, boot, "
        "start, previous, hash FROM events WHERE id = 3",
    ],
)
def test_rows_cannot_be_changed_and_with_the_triggers_dropped_it_is_found(
    ledger: Ledger, statement: str
) -> None:
    for _ in range(3):
        ledger.failed(ledger.started("/r", "bench", "p"), "it broke")
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        tamper(ledger, statement)
    assert ledger.problems() == []
    tamper(ledger, *(f"DROP TRIGGER {name}" for name in module._TRIGGERS))
    assert len(ledger.problems()) == 1  # that they are gone
    tamper(ledger, statement)
    assert any("row" in line for line in ledger.problems())
    tamper(ledger, *module._TRIGGERS.values())
    problems = ledger.problems()
    assert problems and all("row" in line and "\n" not in line for line in problems)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    row=st.integers(1, 6),
    column=st.sampled_from(["run", "at", "previous", "hash", *module._CONTENT]),
    value=st.text(max_size=5)
    | st.integers(-(2**63), 2**63 - 1)
    | st.binary(max_size=5)
    | st.floats(allow_nan=False),
)
def test_any_changed_value_is_found(
    tmp_path: Path, row: int, column: str, value: object
) -> None:
    path = tmp_path / "ledger.sqlite"
    path.unlink(missing_ok=True)
    ledger = Ledger(path)
    for i in range(3):
        ledger.failed(ledger.started(f"/r/{i}", "bench", "p"), "it broke")
    tamper(ledger, "DROP TRIGGER no_update")
    database = sqlite3.connect(path)
    before = database.execute(
        f"SELECT {column} FROM events WHERE id = ?", [row]
    ).fetchone()
    database.execute(f"UPDATE events SET {column} = ? WHERE id = ?", [value, row])
    after = database.execute(
        f"SELECT {column} FROM events WHERE id = ?", [row]
    ).fetchone()
    database.commit()
    database.close()
    tamper(ledger, module._TRIGGERS["no_update"])
    assert bool(ledger.problems()) == (before != after)
    ledger.runs()  # whatever is in it


_APPEND = """
import sys
from deep500.bundle.records.ledger import Ledger
ledger = Ledger(sys.argv[1])
sys.stdin.readline()
for i in range(int(sys.argv[2])):
    run = ledger.started(f"/r/{i}", "bench", "p")
    print(run, flush=True)
    if i % 2:
        ledger.finished(run, "m")
"""


def appending(ledger: Ledger, runs: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _APPEND, str(ledger.path), str(runs)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_four_processes_add_25_runs_each_at_once(ledger: Ledger) -> None:
    processes = [appending(ledger, 25) for _ in range(4)]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    names = {name for process in processes for name in process.communicate()[0].split()}
    assert [process.returncode for process in processes] == [0] * 4
    runs = ledger.runs()
    assert (
        len(runs) == len(names) == 100
        and {run.run for run in runs} == names
        and ledger.problems() == []
    )
    assert sum(run.state == "finished" for run in runs) == 48
    assert sum(run.state == "unfinished" for run in runs) == 52


def test_kill_9_while_adding_leaves_the_ledger_whole(ledger: Ledger) -> None:
    known: set[str] = set()
    for wait in (0.0, 0.003, 0.01, 0.02):
        with appending(ledger, 10**6) as process:
            assert process.stdin and process.stdout
            process.stdin.write("go\n")
            process.stdin.flush()
            known.add(process.stdout.readline().strip())
            time.sleep(wait)
            process.kill()
            known |= {line.strip() for line in process.stdout if line.endswith("\n")}
        assert ledger.problems() == [] and known <= {run.run for run in ledger.runs()}
    ledger.finished(ledger.started("/r", "bench", "p"), "m")
    assert ledger.problems() == []


def test_a_ledger_that_stays_busy_is_one_line(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.started("/r", "bench", "p")
    monkeypatch.setattr(module, "_BUSY_S", 0.05)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Deep500Error, match="in use since 0.05 s"):
        ledger.started("/r", "bench", "p")
    assert len(ledger.runs()) == 1  # reading goes on
    other.close()
    ledger.started("/r", "bench", "p")


def test_what_is_no_ledger_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database at all, " * 50)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    for name, version in (("other", 0), ("odd", 1), ("newer", 7)):
        database = sqlite3.connect(tmp_path / name)
        database.execute("CREATE TABLE events (x)")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
        database.close()
    for name in ("text", "folder", "pipe", "other", "odd", "newer"):
        ledger = Ledger(tmp_path / name)
        for use in (
            ledger.runs,
            ledger.problems,
            lambda ledger=ledger: ledger.started("/r", "bench", "p"),
        ):
            with pytest.raises(Deep500Error) as caught:
                use()
            assert "\n" not in str(caught.value), name
    with pytest.raises(
        Deep500Error,
        match=r"^ledger format 7 is newer than this Deep500 reads \(1\): upgrade",
    ):
        Ledger(tmp_path / "newer").runs()
    with pytest.raises(Deep500Error, match="cannot be written"):
        Ledger(tmp_path / "file" / "below" / "ledger.sqlite").started(
            "/r", "bench", "p"
        )
    assert Ledger(tmp_path / "file").runs() == []  # an empty file is an empty database


def test_damaged_pages_are_an_error_or_a_problem(ledger: Ledger) -> None:
    for i in range(20):
        ledger.failed(ledger.started(f"/r/{i}", "bench", "p" * 64), "it broke")
    whole = ledger.path.read_bytes()
    for data in (
        whole[: len(whole) // 2],
        whole[:4096] + b"\xff" * (len(whole) - 4096),
        whole[:100] + bytes(3996),
    ):
        ledger.path.write_bytes(data)
        try:
            assert ledger.problems()
        except Deep500Error as error:
            assert "\n" not in str(error)


def test_home_follows_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path / "mine"))
    assert (
        home() == tmp_path / "mine"
        and Ledger().path == tmp_path / "mine" / "ledger.sqlite"
    )
    monkeypatch.delenv("DEEP500_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert home() == tmp_path / "data" / "deep500"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".local" / "share" / "deep500"
