"""What goes wrong in a child process is one line here, and nothing hangs."""

import os
import sys
import time
from pathlib import Path

import pytest

from deep500.errors import Deep500Error
from deep500.supervision.isolation import Died, isolated

CODE = """
import ctypes, os, sys, time
from deep500.errors import Deep500Error

def add(a, b, progress):
    print("this goes nowhere")
    return {"sum": a + b}
def refuse(progress): raise Deep500Error("not like this")
def crash(progress):
    progress("the first step")
    ctypes.string_at(0)
def endless(progress):
    progress("a long loop")
    while True: pass
def leave(progress): sys.exit(3)
def scribble(progress): os.write(int(sys.argv[1]), b"hello\\n")
def unnamed_signal(progress): os.kill(os.getpid(), 40)
def leave_at_once(progress): os._exit(4)
def fail(progress): raise ValueError("of no value")
def chatter(progress):
    for _ in range(2000):
        sys.stderr.write("x" * 100_000)
        sys.stdout.write("y" * 100_000)
    return 1
def spawn(progress):
    child = os.fork()
    if child == 0:
        time.sleep(60)
    return child
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "kernels_of_a_user.py").write_text(CODE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))


def run(name, timeout_s=60.0, **arguments):
    return isolated(f"kernels_of_a_user:{name}", arguments, timeout_s)


@pytest.mark.parametrize("timeout_s", [60.0, 1e12, float("inf")])
def test_an_answer_comes_back(timeout_s):
    assert run("add", timeout_s, a=2, b=3) == {"sum": 5}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crash", "ended by signal SIGSEGV during the first step"),
        ("leave", r"called exit\(3\)"),
        ("leave_at_once", "ended with exit code 4"),
        ("scribble", "wrote into the channel of the answer: b'hello'"),
        ("unnamed_signal", "ended by signal 40"),
        ("fail", "ended with exit code 1: ValueError: of no value"),
    ],
)
def test_what_dies_is_told_in_one_line(name, said):
    with pytest.raises(Died, match=said) as found:
        run(name)
    assert "\n" not in str(found.value)


def test_an_endless_loop_ends_at_the_deadline():
    start = time.monotonic()
    with pytest.raises(Died, match="no answer within 2 s during a long loop"):
        run("endless", timeout_s=2)
    assert time.monotonic() - start < 60


def test_errors_for_users_are_passed_on():
    with pytest.raises(Deep500Error, match="not like this") as found:
        run("refuse")
    assert not isinstance(found.value, Died)


def test_much_output_does_no_harm():
    assert run("chatter") == 1


def test_what_it_started_ends_with_it():
    stat = Path(f"/proc/{run('spawn')}/stat")
    deadline = time.monotonic() + 60
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)
