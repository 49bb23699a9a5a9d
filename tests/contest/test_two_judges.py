"""Two judges on one machine: what one submission uses up is never put down to another."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deep500 import cli
from deep500.contest.definition import ContestFolder
from deep500.contest.judging import judge, waiting
from deep500.contest.one_judge import one_judge
from deep500.contest.submissions import submit
from deep500.supervision.descendants import descendants, end_below, thread_count

from .cup import HONEST, judged, opened

HELD = 24  # threads; 32 are allowed, to each of two submissions
HOLDER = f"""
import threading, time
for _ in range({HELD}):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
time.sleep(600)
MUTABLE = {{}}
"""
# an honest one, that starts some threads at every step
STARTER = """
import threading
import deep500 as d5

class Threads(d5.events.Event):
    def after_step(self, trainer, outputs):
        ended = threading.Event()
        threads = [threading.Thread(target=ended.wait) for _ in range(16)]
        for thread in threads:
            thread.start()
        ended.set()
        for thread in threads:
            thread.join()

MUTABLE = {
    "batch_size": 128,
    "executor": "reference",
    "optimizer": d5.optimizers.Adam(0.003),
    "events": [Threads()],
}
"""
BOMBS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from tests.contest.cup import judged, opened
from tests.contest.test_cheats import CHEATS
number = 0
while True:
    number += 1
    folder = opened(Path(sys.argv[2]) / f"bombs-{number}")
    found = judged(folder, CHEATS / "fork_bomb.py").judgement
    print(found.accepted, found.layer, flush=True)
"""
REPOSITORY = Path(__file__).parents[2]


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def threads_below(pid: int) -> int:
    return max(map(thread_count, descendants(pid)), default=0)


def judging(folder: ContestFolder) -> subprocess.Popen:
    command = [sys.executable, "-m", "deep500.cli", "contest", "judge"]
    return subprocess.Popen([*command, str(folder.path)], stdout=subprocess.DEVNULL)


def end(process: subprocess.Popen) -> None:
    """Kill a judge, and wait until its sandboxes are gone as well."""
    below = descendants(process.pid)
    process.kill()
    process.wait()
    until(lambda: not any(map(thread_count, below)))


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    file = tmp_path / "starter.py"
    file.write_text(STARTER)
    return file


def test_threads_of_another_submission_are_not_counted(
    tmp_path: Path, starter: Path
) -> None:
    """Both stay within their limits, and together they are far beyond one."""
    file = tmp_path / "holder.py"
    file.write_text(HOLDER)
    folder = opened(tmp_path / "held", load_seconds=600.0)
    submit(folder, file, "holder", "closed")
    other = judging(folder)
    try:
        until(lambda: threads_below(other.pid) > HELD)
        outcome = judged(opened(tmp_path / "cup"), starter)
        assert outcome.judgement.accepted, outcome.judgement
        assert outcome.failed == []
    finally:
        end(other)


@pytest.mark.slow
def test_a_fork_bomb_of_another_judge_accuses_nobody(
    tmp_path: Path, starter: Path
) -> None:
    command = [sys.executable, "-c", BOMBS, str(REPOSITORY), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bombs:
        try:
            assert bombs.stdout is not None
            for number in range(4):
                outcome = judged(opened(tmp_path / f"cup-{number}"), starter)
                assert outcome.judgement.accepted, outcome.judgement
                assert outcome.failed == []
                assert bombs.stdout.readline() == "False limits\n"
        finally:
            end_below(bombs.pid)
            bombs.kill()


def test_one_judge_at_a_time_in_a_contest(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    folder = opened(tmp_path / "cup")
    with one_judge(folder):
        assert cli.main(["contest", "judge", str(folder.path)]) == 2
        error = capsys.readouterr().err
        assert "another judge is at work" in error and error.count("\n") == 1
    assert cli.main(["contest", "judge", str(folder.path)]) == 0


WRITER = """
import sys
from pathlib import Path
from deep500.contest.definition import LogLine, open_folder
log = open_folder(Path(sys.argv[1])).log
sys.stdin.read(1)
for number in range(50):
    log.append([LogLine("", "submitted", sys.argv[2], reason=str(number))])
"""


def test_a_log_with_several_writers_stays_a_chain(tmp_path: Path) -> None:
    """Participants hand in while the judge writes."""
    folder = opened(tmp_path / "cup")
    command = [sys.executable, "-c", WRITER, str(folder.path)]
    writers = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE) for name in "abc"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b".")
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines, _ = folder.log.read()
    assert len(lines) == 1 + 3 * 50


def undecided(folder: ContestFolder) -> str:
    """The reason why nothing is decided; the submission waits, and the log says so."""
    [line] = waiting(folder)
    judgement = judge(folder, line)
    assert not judgement.accepted and not judgement.decided and judgement.layer == ""
    lines, _ = folder.log.read()
    assert (lines[-1].event, lines[-1].layer) == ("undecided", "")
    assert len(waiting(folder)) == 1
    assert [*(folder.path / "results").iterdir()] == []
    return judgement.reason


def test_a_sandbox_that_is_not_ready_decides_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Our own processes do not fit into the memory that this organiser gives."""
    folder = opened(tmp_path / "cup", memory_mib=1)
    submit(folder, HONEST, "honest", "closed")
    assert "the sandbox was not ready" in undecided(folder)
    assert cli.main(["contest", "judge", str(folder.path)]) == 3
    assert "honest: NOT DECIDED: the sandbox" in capsys.readouterr().out
    assert cli.main(["contest", "judge", str(folder.path), "--json"]) == 3
    [document] = json.loads(capsys.readouterr().out)["judged"]
    assert document["decided"] is False


def test_a_recipe_that_cannot_be_loaded_there_is_the_organisers(tmp_path: Path) -> None:
    from deep500.contest.definition import create
    from deep500.hashing.imported_files import file_hashes

    from .cup import ORGANISER, contest

    rates = tmp_path / "rates.txt"
    rates.write_text("0.1")
    recipe = tmp_path / "recipe.py"
    recipe.write_text(
        f"from pathlib import Path\nPath({str(rates)!r}).read_text()\n"
        + ORGANISER.read_text().partition('"""\n')[2]
    )
    digest = file_hashes({"recipe": recipe})["recipe"]
    folder = create(tmp_path / "cup", recipe, contest(recipe=digest))
    submit(folder, HONEST, "honest", "closed")
    assert "No such file" in undecided(folder)


@pytest.mark.slow
def test_the_reference_of_the_organiser_is_not_the_submission(tmp_path: Path) -> None:
    from .test_kernels import HONEST as KERNEL
    from .test_kernels import PROBLEM
    from .test_kernels import opened as opened_for_kernels

    problem = tmp_path / "problem.py"
    told = f"\nwith open({str(PROBLEM)!r}) as file:\n    file.read()\n"
    problem.write_text(PROBLEM.read_text() + told)
    folder = opened_for_kernels(tmp_path / "cup", problem)
    submit(folder, KERNEL, "kernel", "closed")
    assert "the organiser's reference failed: sandbox" in undecided(folder)


@pytest.mark.slow
def test_a_killed_judge_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    """Neither processes nor half a result: the next judge judges."""
    folder = opened(tmp_path / "cup", seeds=2)
    submit(folder, HONEST, "honest", "closed")
    first = judging(folder)
    samples = folder.path / "results" / "honest" / "samples.jsonl"
    until(lambda: samples.exists() and samples.stat().st_size > 1000)
    below = descendants(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    until(lambda: not any(map(thread_count, below)))
    [line] = waiting(folder)
    judgement = judge(folder, line)
    assert judgement.accepted, judgement
