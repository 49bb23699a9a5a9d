import os
import random
import signal
import subprocess
import sys
import time

import pytest

from deep500 import bundle
from deep500.bundle.records.ledger import Ledger
from deep500.bundle.records.verification import verify

QUICK = ("--budget", "0.6")
# Numbers that a test asks for must not depend on how much a busy machine measures in that time: a fixed
# number of processes always has an interval, and a coarse precision ends a run by its number of samples.
SIX = ("--budget", "1.5", "--processes", "6")
ENOUGH = ("--budget", "30", "--precision", "5")
KEYS = {"name", "n", "median", "low", "high", "level", "unit", "warmup_cut", "verdicts"}


def test_two_statements_are_compared(d5, tmp_path):
    answer = d5(
        "bench",
        "sum(range(1000))",
        "sum(range(5000))",
        *SIX,
        "--out",
        tmp_path / "run",
        "--json",
    )
    assert answer.code == 0, answer.err
    base, other = answer.json["entries"]
    assert base.keys() >= KEYS
    assert base["low"] <= base["median"] <= base["high"]
    assert base["unit"] == "s" and base["n"] > 0 and base["verdicts"] == []
    assert other["verdicts"][0]["against"] == "sum(range(1000))"
    assert other["verdicts"][0]["verdict"] == "slower"
    assert answer.json["bundle"] == str(tmp_path / "run")
    assert verify(tmp_path / "run").ok


def test_the_terminal_shows_the_answer_first_and_progress_stays_on_stderr(d5):
    answer = d5("bench", "sum(range(1000))", "sum(range(5000))", *SIX)
    assert answer.code == 0
    assert "slower" in "\n".join(answer.out.splitlines()[:4])
    assert "n = " in answer.out and "[" in answer.out
    assert "░" not in answer.out


def test_a_setup_that_imports_every_name_of_a_users_module(d5, tmp_path):
    (tmp_path / "mine.py").write_text("k = 3\ndef work(n): return sum(range(n))\n")
    answer = d5("bench", "work(k)", "--setup", "from mine import *", *SIX, "--json")
    assert answer.code == 0, answer.err
    assert answer.json["entries"][0]["n"] > 0


def test_functions_and_commands(d5, tmp_path):
    (tmp_path / "mine.py").write_text("def work(): return sum(range(500))\n")
    assert (
        d5("bench", "--function", "mine:work", *QUICK, "--json").json["entries"][0][
            "name"
        ]
        == "mine:work"
    )
    assert (
        d5("bench", "--command", "true", *ENOUGH, "--json").json["entries"][0]["n"] > 5
    )


def test_factors_names_and_control(d5):
    answer = d5(
        "bench",
        "sum(range(n))",
        "--name",
        "sum",
        "--factor",
        "n=10,1000",
        "--control",
        *SIX,
        "--json",
    )
    names = [e["name"] for e in answer.json["entries"]]
    assert names == [
        "sum n=10",
        "sum (control) n=10",
        "sum n=1000",
        "sum (control) n=1000",
    ]
    assert answer.json["control"]["base"] == "sum n=10"


def test_a_report_is_written_beside_the_bundle(d5, tmp_path):
    answer = d5(
        "bench", "sum(range(1000))", *QUICK, "--out", tmp_path / "run", "--report"
    )
    assert answer.code == 0, answer.err
    assert "<svg" in (tmp_path / "run.html").read_text()
    assert verify(tmp_path / "run").ok


WRONG = {
    "syntax error": ("1 +",),
    "empty": (),
    "function raises": ("--function", "bad:fails"),
    "no such module": ("--function", "no_such_module:f"),
    "not module:name": ("--function", "nothing"),
    "command fails": ("--command", "exit 3"),
    "no such command": ("--command", "no_such_command_d5"),
    "command never ends": ("--command", "sleep 1000", "--timeout", "0.5"),
    "statement never ends": ("while True: pass", "--timeout", "0.5"),
    "bad budget": ("1", "--budget", "-1"),
    "no number": ("1", "--budget", "many"),
    "unknown option": ("1", "--colour"),
    "bad factor": ("n", "--factor", "n"),
    "factor twice": ("n", "--factor", "n=1", "--factor", "n=2"),
    "level twice": ("n", "--factor", "n=1,1"),
    "a list as level": ("n", "--factor", "n=[1,2]"),
    "setup raises": ("pass", "--setup", "1/0"),
    "processes of a command": ("--command", "true", "--processes", "3"),
    "too many names": ("1", "--name", "a", "--name", "b"),
    "bad level": ("1", "--level", "2"),
    "mixed": ("1", "--command", "true"),
    "dies": ("import os; os._exit(1)",),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_bad_input_is_one_line_and_nothing_is_left(d5, tmp_path, wrong):
    (tmp_path / "bad.py").write_text("def fails(): raise RuntimeError('no\\nway')\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    answer = d5("bench", *WRONG[wrong], "--out", tmp_path / "run")
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.startswith("d5: ") and answer.err.count("\n") == 1, answer.err
    left = {p.name for p in tmp_path.iterdir()} - {*before, "home", "__pycache__"}
    assert not left


def test_an_unwritable_or_used_folder_is_refused(d5, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    (tmp_path / "plain").write_text("a file")
    for folder in (tmp_path / "used", tmp_path / "plain" / "run", "/proc/nothing/here"):
        answer = d5("bench", "1", *QUICK, "--out", folder)
        assert answer.code == 2 and answer.err.count("\n") == 1, answer.err
    assert [p.name for p in (tmp_path / "used").iterdir()] == ["file"]


def start(tmp_path, *args):
    return subprocess.Popen(
        [sys.executable, "-m", "deep500.cli", "bench", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DEEP500_HOME": str(tmp_path / "home")},
    )


def when_blocks_exist(folder, process):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if (folder / "samples.jsonl").exists() and (
            folder / "samples.jsonl"
        ).read_bytes().count(b"\n") > 2:
            return
        time.sleep(0.02)
    raise AssertionError(f"no block within 120 s: {process.communicate()}")


def test_control_c_keeps_what_was_measured(tmp_path):
    process = start(
        tmp_path,
        "sum(range(100_000))",
        "--budget",
        "60",
        "--precision",
        "1e-6",
        "--out",
        "run",
    )
    when_blocks_exist(tmp_path / "run", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    *progress, last = err.splitlines()
    assert out == "" and last.startswith("d5: interrupted"), err
    # a slow machine tells how far it is
    assert all("%" in line for line in progress), err
    found = verify(tmp_path / "run")
    assert found.ok and not found.finished and found.blocks > 0


@pytest.mark.parametrize("moment", range(3))
def test_kill_9_leaves_a_clean_prefix_and_the_ledger_names_it(tmp_path, moment):
    process = start(
        tmp_path,
        "sum(range(20_000))",
        "--budget",
        "60",
        "--precision",
        "1e-6",
        "--out",
        "run",
    )
    when_blocks_exist(tmp_path / "run", process)
    time.sleep(random.Random(moment).uniform(0, 0.7))
    process.kill()
    process.communicate(timeout=120)
    found = verify(tmp_path / "run")
    assert found.ok and not found.finished
    assert not bundle.read(tmp_path / "run").problems
    [run] = Ledger(tmp_path / "home" / "ledger.sqlite").runs()
    assert run.state == "unfinished"


@pytest.mark.parametrize(
    "words",
    [("_d5_start += 20000",), ("pass", "--setup", "_d5_now = 1"), ("pass", "--factor", "_d5_n=1,2")],
)  # fmt: skip
def test_names_of_the_timed_loop_are_refused_in_one_line(d5, words):
    answer = d5("bench", *words)
    assert answer.code == 2
    assert len(answer.err.splitlines()) == 1 and "_d5_" in answer.err


def test_the_headline_names_its_ratio_and_gives_the_other_two(d5):
    answer = d5("bench", "sum(range(20_000))", "sum(range(60_000))", *SIX)
    assert answer.code == 0, answer.err
    headline = " ".join(answer.out.split("Stopped")[0].split())
    assert "median ratio of paired rounds of single calls" in headline
    assert "ratio of medians" in headline and ", of means" in headline
