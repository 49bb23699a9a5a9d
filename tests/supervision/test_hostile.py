"""Whatever a statement or a command does: one line within the deadline, no traceback, no process left behind."""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .hostile import COMMANDS, STATEMENTS

D5 = [sys.executable, "-P", "-m", "deep500.cli"]
TIMEOUT_S = 2.0
LIMIT_S = 120.0  # what hangs would take SLEEP; a busy machine is slow
GONE_S = 30.0
IN_QUICK_SET = 6

CASES = [("statement", name) for name in STATEMENTS] + [
    ("command", name) for name in COMMANDS
]
QUICK = random.Random(500).sample(CASES, IN_QUICK_SET)


class Marked:
    """A run of d5 whose processes can be told from all others, by their environment or by how long they sleep."""

    def __init__(self, folder: Path):
        self.mark = uuid.uuid4().hex
        self.sleep = str(random.randrange(100_000, 1_000_000_000))
        self.folder = folder
        folder.mkdir()

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*D5, *(word.replace("SLEEP", self.sleep) for word in words)],
            cwd=self.folder,
            env=os.environ | {"D5_TEST_MARK": self.mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )

    def processes(self) -> dict[int, str]:
        """What is running of it, by its number."""
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and self._is_ours(entry):
                found[int(entry.name)] = (
                    (entry / "cmdline").read_text().replace("\0", " ")[:200]
                )
        return found

    def left(self) -> dict[int, str]:
        """What is still running of it a moment later."""
        deadline = time.monotonic() + GONE_S
        while (found := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return found

    def _is_ours(self, entry: Path) -> bool:
        try:
            environment = (entry / "environ").read_bytes()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False
        return self.mark.encode() in environment or self.sleep.encode() in words


@pytest.fixture
def marked(tmp_path: Path) -> Iterator[Marked]:
    run = Marked(tmp_path / "folder")
    yield run
    for pid in run.processes():
        os.kill(pid, signal.SIGKILL)


def measured(kind: str, text: str) -> list[str]:
    what = ["--command", text] if kind == "command" else [text]
    return ["bench", *what, "--timeout", str(TIMEOUT_S), "--budget", "0.3"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow)
        for case in CASES
    ],
)
def test_the_worst_is_one_line_and_leaves_nothing(
    kind: str, name: str, marked: Marked
) -> None:
    text = (COMMANDS if kind == "command" else STATEMENTS)[name]
    began = time.monotonic()
    with marked.start(*measured(kind, text)) as process:
        output, errors = process.communicate(timeout=10 * LIMIT_S)
    assert time.monotonic() - began < LIMIT_S
    assert process.returncode in (0, 1, 2, 3), errors
    assert "Traceback" not in output + errors
    assert all(
        line.startswith(("d5: ", "warning: ")) for line in errors.splitlines()
    ), errors
    assert not marked.left()


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 56


# Each writes a note when it runs, in a file that the other side waits for.
SLEEPING_OPERATOR = """
import subprocess, time
subprocess.Popen(["sleep", "SLEEP"], start_new_session=True)
open("running", "w").close()
time.sleep(SLEEP)
"""

GOING = {
    "a command": [
        "bench",
        "--command",
        "touch running; setsid sleep SLEEP & sleep SLEEP",
    ],
    "a statement": [
        "bench",
        "import subprocess, time; subprocess.Popen(['sleep', 'SLEEP'], start_new_session=True); "
        "open('running', 'w').close(); time.sleep(SLEEP)",
    ],
    "a check": ["check", "operator", "asleep.py:relu", "--reference", "asleep.py:relu"],
}
ENDINGS = [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def expected_code(number: signal.Signals) -> int:
    return -number if number == signal.SIGKILL else 128 + number


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize(
    "going",
    [
        name if name == "a command" else pytest.param(name, marks=pytest.mark.slow)
        for name in GOING
    ],
)
def test_nothing_goes_on_when_d5_is_killed(
    going: str, number: signal.Signals, marked: Marked
) -> None:
    (marked.folder / "asleep.py").write_text(
        SLEEPING_OPERATOR.replace("SLEEP", marked.sleep)
    )
    with marked.start(*GOING[going], "--timeout", "1000") as process:
        wait_for((marked.folder / "running").exists)
        process.send_signal(number)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == expected_code(number)
    assert "Traceback" not in errors
    assert not marked.left()


LONG = {
    "bench": ["bench", "sum(range(1000))", "--budget", "60", "--precision", "1e-9"],
    "run": ["run", "digits_cnn", "--seeds", "6"],
}


@pytest.mark.slow
@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("verb", LONG)
def test_what_was_recorded_before_the_end_is_a_clean_bundle(
    verb: str, number: signal.Signals, marked: Marked
) -> None:
    samples = marked.folder / "bundle" / "samples.jsonl"
    with marked.start(*LONG[verb], "--out", "bundle") as process:
        wait_for(
            lambda: samples.exists() and samples.read_bytes().count(b"\n") >= 3, 200.0
        )
        process.send_signal(number)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert process.returncode == expected_code(number)
    assert "Traceback" not in errors
    assert not marked.left()
    with marked.start("verify", "bundle") as verification:
        said, complaints = verification.communicate(timeout=LIMIT_S)
    assert verification.returncode == 0, said + complaints


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_ignored(marked: Marked) -> None:
    """As under nohup."""
    command = "touch running; sleep 2"
    words = [*D5, "bench", "--command", command, "--budget", "0.1", "--timeout", "100"]
    quoted = " ".join(f"'{word}'" for word in words)
    with subprocess.Popen(
        ["sh", "-c", f"trap '' HUP; exec {quoted}"], cwd=marked.folder
    ) as process:
        wait_for((marked.folder / "running").exists)
        process.send_signal(signal.SIGHUP)
        assert process.wait(LIMIT_S) == 0
