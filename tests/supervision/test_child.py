"""Whatever a child does, there is an answer or one line within the deadline, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deep500.errors import Deep500Error, Wrong
from deep500.supervision import child as child_module
from deep500.supervision.child import Child, Died, Ended, Silent

# Other tests of the same process may have loaded JAX, which warns of every fork.
may_fork = pytest.mark.filterwarnings("ignore:os.fork")

SERVANT = """
import ctypes, os, signal, subprocess, sys, time
from deep500.errors import Deep500Error, Wrong
from deep500.supervision.serving import serve

REPLY, REQUEST = map(int, sys.argv[1:3])

def write(text): os.write(REPLY, text.encode())
def sleep(): time.sleep(600)

def do(request, progress):
    progress("the " + request["do"])
    exec(request["code"])
    return {"value": request.get("value")}

serve(do)
"""


@pytest.fixture
def servant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    (tmp_path / "servant_of_a_test.py").write_text(SERVANT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with Child.fresh("servant_of_a_test") as child:
        yield child


def ask(child: Child, code: str, timeout_s: float = 30.0, **more: Any) -> Any:
    return child.ask({"do": "job", "code": code, **more}, "value", timeout_s)


def gone(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("timeout_s", [30.0, 1e12, float("inf")])
def test_every_request_has_its_answer(servant: Child, timeout_s: float) -> None:
    for value in (1, [2.5, None], "ä\n", "x" * 3_000_000):
        assert ask(servant, "pass", timeout_s, value=value) == value


def test_errors_for_users_keep_their_kind_and_the_child_goes_on(servant: Child) -> None:
    with pytest.raises(Wrong, match="not right"):
        ask(servant, "raise Wrong('not right')")
    with pytest.raises(Deep500Error, match="not so") as error:
        ask(servant, "raise Deep500Error('not so')")
    assert not isinstance(error.value, Wrong | Died)
    assert ask(servant, "pass", value=3) == 3


ENDS = {
    "a crash": ("ctypes.string_at(0)", "ended by signal SIGSEGV during the job"),
    "a signal without a name": ("os.kill(os.getpid(), 40)", "ended by signal 40"),
    "an exit code": (
        "os._exit(7)",
        "the process ended with exit code 7 during the job",
    ),
    "an exception": (
        "raise ValueError('of\\nno value')",
        "exit code 1 during the job: no value",
    ),
    "last words": (
        "sys.stderr.write('why\\n\\n'); sys.stderr.flush(); os._exit(1)",
        ": why",
    ),
    "a polite exit": ("sys.exit(3)", r"the code called exit\(3\) during the job"),
    "no memory": ("raise MemoryError", "the memory was used up during the job"),
    "an answer that is no JSON": (
        "request['value'] = object()",
        "not JSON serializable",
    ),
    "garbage": ("write('hello\\n')", r"wrote into the channel of the answer.*b'hello'"),
    "another value": ("write('3\\n')", "wrote into the channel of the answer"),
    "another answer": (
        "write('{\"a\": 1}\\n')",
        "wrote into the channel of the answer",
    ),
    "deep nesting": (
        "write('[' * 60_000 + '\\n')",
        "wrote into the channel of the answer",
    ),
    "closed pipes": (
        "os.close(REPLY); os.close(REQUEST); sleep()",
        "closed the channel of the answer during the job",
    ),
    "closed pipes, then an end": (
        "os.close(REPLY); os._exit(4)",
        "ended with exit code 4",
    ),
    "an heir that holds the pipes": (
        "if os.fork() == 0: sleep()\nos._exit(5)",
        "ended with exit code 5",
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_every_end_is_one_line(servant: Child, end: str) -> None:
    code, said = ENDS[end]
    began = time.monotonic()
    with pytest.raises(Died, match=said) as error:
        ask(servant, code, 300.0)
    assert "\n" not in str(error.value)
    assert time.monotonic() - began < 120


def test_an_answer_without_end_is_refused(
    servant: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "LONGEST_ANSWER", 2_000_000)
    with pytest.raises(Died, match="an answer of more than 2 MB during the job"):
        ask(servant, "while True: write('x' * 10_000)")


def test_an_endless_loop_ends_at_the_deadline(servant: Child) -> None:
    assert ask(servant, "signal.signal(signal.SIGTERM, signal.SIG_IGN)") is None
    began = time.monotonic()
    with pytest.raises(Silent, match=r"no answer within 0\.5 s during the job"):
        ask(servant, "while True: pass", 0.5)
    assert time.monotonic() - began < 60
    servant.kill()
    assert gone(servant.process.pid)


def test_progress_does_not_move_the_deadline(servant: Child) -> None:
    with pytest.raises(Silent, match="during step"):
        ask(servant, "while True: progress('step'); time.sleep(0.05)", 1.0)


def test_a_child_that_does_not_read_is_no_reason_to_wait(servant: Child) -> None:
    assert ask(servant, "pass", value=1) == 1
    servant.pause()
    began = time.monotonic()
    with pytest.raises(Silent):
        ask(servant, "pass", 0.5, value="x" * 10_000_000)
    assert time.monotonic() - began < 60


def test_a_paused_child_goes_on_where_it_was(servant: Child) -> None:
    assert ask(servant, "pass", value=1) == 1
    servant.pause()
    with pytest.raises(Silent):
        ask(servant, "pass", 0.3, value=2)
    servant.go_on()
    assert servant.answer("value", 30.0) == 2


def test_much_on_stderr_is_not_kept(servant: Child) -> None:
    code = "for _ in range(200): os.write(2, b'x' * 1_000_000); time.sleep(0.01)"
    assert ask(servant, code) is None
    assert ask(servant, "time.sleep(0.7)") is None
    assert os.fstat(servant._stderr.fileno()).st_size <= child_module.LONGEST_STDERR


def test_what_it_started_ends_with_it(servant: Child) -> None:
    code = "request['value'] = subprocess.Popen(['sleep', '60']).pid"
    pid = ask(servant, code)
    assert not gone(pid)
    servant.kill()
    assert eventually(lambda: gone(pid))
    servant.kill()  # a second time does no harm


def test_close_lets_it_end_by_itself(servant: Child, tmp_path: Path) -> None:
    note = tmp_path / "note"
    ask(
        servant,
        f"import atexit; atexit.register(open({str(note)!r}, 'w').write, 'done')",
    )
    servant.close()
    assert note.read_text() == "done" and gone(servant.process.pid)


def test_close_does_not_wait_for_long(servant: Child) -> None:
    ask(servant, "import atexit; atexit.register(time.sleep, 600)")
    began = time.monotonic()
    servant.close()
    assert time.monotonic() - began < 60 and gone(servant.process.pid)


@may_fork
def test_a_parent_that_is_killed_takes_the_child_with_it(tmp_path: Path) -> None:
    pids, pids_end = os.pipe()

    def parent(send: Callable[[dict], None]) -> None:
        with Child.forked(lambda send: time.sleep(60)) as inner:
            os.write(pids_end, str(inner.process.pid).encode())
            time.sleep(60)

    with Child.forked(parent) as outer:
        inner = int(os.read(pids, 100))
        time.sleep(0.2)
        os.kill(outer.process.pid, signal.SIGKILL)
        assert eventually(lambda: gone(inner))


@may_fork
def test_a_copy_answers_and_ends() -> None:
    secret = object()

    def work(send: Callable[[dict], None]) -> None:
        print("this goes nowhere")
        for i in range(3):
            send({"same": id(secret) + i})

    with Child.forked(work) as child:
        assert [child.answer("same", 10.0) - id(secret) for _ in range(3)] == [0, 1, 2]
        with pytest.raises(Ended, match="exit code 0"):
            child.answer("same", 10.0)


EARLY_CTRL_C = """
import os, signal
from deep500.supervision.child import Child, Died

os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    with Child.forked(lambda send: send({"never": 1})) as child:
        child.answer("never", 20.0)
except Died as error:
    print("ended")
"""


def test_a_ctrl_c_in_the_first_moment_of_a_copy_prints_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY_CTRL_C], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@may_fork
def test_a_copy_that_fails_says_why_and_runs_nothing_of_the_parent(
    tmp_path: Path,
) -> None:
    def work(send: Callable[[dict], None]) -> None:
        raise ValueError("of no value")

    try:
        with (
            Child.forked(work) as child,
            pytest.raises(Ended, match="ValueError: of no value"),
        ):
            child.answer("same", 10.0)
    finally:
        with open(tmp_path / "lines", "a") as file:
            file.write(f"{os.getpid()}\n")
    assert (tmp_path / "lines").read_text() == f"{os.getpid()}\n"


def test_a_process_that_cannot_be_started_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(
        Deep500Error, match="cannot be started: No such file or directory"
    ):
        Child.fresh("servant_of_a_test")
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_copy_of_a_child_has_the_same_keeper_and_ends_with_it(servant: Child) -> None:
    code = (
        "from deep500.supervision.child import Child\n"
        "def work(send): signal.signal(15, signal.SIG_IGN); send({'pid': os.getpid()}); sleep()\n"
        "copy = Child.forked(work)\n"
        "request['value'] = [copy.answer('pid', 10.0), copy.process.pid]\n"
        "globals()['copies'] = [copy]"
    )
    pid, process = ask(servant, code)
    assert pid == process and not gone(pid)
    ask(servant, "copies.pop().kill()")
    assert eventually(lambda: gone(pid))
    pid, _ = ask(servant, code)
    servant.kill()
    assert eventually(lambda: gone(pid))


def test_a_partial_write_copies_nothing(servant: Child) -> None:
    """A pipe takes 64 KiB at a time: copies of what remains would make a large request quadratic."""
    request = b"x" * 10_000_000
    servant._outgoing = memoryview(request)
    servant._write()
    assert 0 < len(servant._outgoing) < len(request)
    assert servant._outgoing.obj is request


def test_files_are_arguments_of_the_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "servant_of_a_test.py").write_text(SERVANT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    with (tmp_path / "shared").open("w+b") as file:
        with Child.fresh("servant_of_a_test", files=[file.fileno()]) as child:
            ask(child, "import os, sys; os.write(int(sys.argv[3]), b'hello')")
        assert os.pread(file.fileno(), 10, 0) == b"hello"
