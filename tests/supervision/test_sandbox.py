"""What a sandboxed process can reach, and that all that is below a process can be stopped and goes on."""

import json
import os
import shlex
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from deep500.supervision.descendants import (
    StillRunning,
    descendants,
    end_below,
    go_on,
    stop_below,
)

PROGRAM = """
import getpass, json, os, socket, sys, threading, time
from deep500.supervision.sandbox import Limits, Sandbox, enter, layers_in_force, python_folders

def tried(act):
    try:
        act()
    except OSError:
        return "refused"
    return "done"

def main():
    told = {
        "layers": layers_in_force(),
        "network": tried(lambda: socket.create_connection(("192.0.2.1", 80), 2)),
        "secret": os.path.exists(sys.argv[2]),
        "hidden": os.path.exists(sys.argv[3]),
        "write": tried(lambda: open(os.__file__, "a")),
        "own": tried(lambda: open("/tmp/own", "w").write("x")),
        "disk": tried(lambda: open("/tmp/full", "wb").write(bytes(40 << 20))),
        "processes": [p for p in os.listdir("/proc") if p.isdigit()],
        "id": os.getpid(),
        "variable": os.environ.get("SECRET", ""),
        "name": getpass.getuser(),
    }
    print(json.dumps(told))
    sys.stdout.flush()

# as libraries do
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
import deep500
package = os.path.dirname(deep500.__file__)
readable = [*python_folders(), package, os.path.dirname(sys.argv[3])]
enter(Sandbox(sys.argv[1], readable, [sys.argv[3]], Limits(disk_mib=16)), main)
"""


@pytest.fixture
def reached(tmp_path: Path) -> dict:
    root, shown = tmp_path / "root", tmp_path / "shown"
    root.mkdir()
    shown.mkdir()
    secret = tmp_path / "secret"
    hidden = shown / "labels"
    for file in (secret, hidden):
        file.write_text("0")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    run = subprocess.run(
        [*command, str(root), str(secret), str(hidden)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"SECRET": "known"},
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    if told["layers"]["files"].startswith("none"):
        pytest.skip(f"no sandbox here: {told['layers']}")
    return told


def test_a_sandbox_reaches_nothing_but_its_own(reached: dict) -> None:
    assert reached["network"] == "refused" and reached["write"] == "refused"
    assert reached["secret"] is False
    assert reached["own"] == "done" and reached["disk"] == "refused"
    assert reached["processes"] in ([str(reached["id"])], []) and reached["id"] == 1
    assert reached["variable"] == "" and reached["name"] == "nobody"


def test_a_hidden_file_is_empty(reached: dict) -> None:
    """Its name stays, as the folder around it is read-only."""
    assert reached["hidden"] is True


def states(pids: set[int]) -> set[str]:
    """The state of every process: R or S if it goes on, T if it is stopped."""
    found = set()
    for pid in pids:
        status = Path(f"/proc/{pid}/stat").read_text()
        found.add(status.rpartition(")")[2].split()[0])
    return found


def test_a_whole_tree_is_stopped_and_goes_on() -> None:
    """Also a process in a session of its own: what it would do while a judge evaluates is not done."""
    spin = "import os\nif os.fork() == 0:\n os.setsid()\nwhile True: pass"
    shell = subprocess.Popen(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -c '{spin}'; true"]
    )
    try:
        deadline = time.monotonic() + 20
        while len(descendants(shell.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        stopped = stop_below(shell.pid)
        assert len(stopped) == 2 and states(stopped) == {"T"}
        go_on(stopped)
        deadline = time.monotonic() + 20
        while "T" in states(stopped) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "T" not in states(stopped)
    finally:
        end_below(shell.pid)
        shell.kill()
        shell.wait()


HOPPER = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    end = time.perf_counter() + float(sys.argv[1])
    while time.perf_counter() < end:
        pass
    if os.fork():
        os._exit(0)
"""
WAKING = """
import os, signal, time
other = os.fork() or os.getppid()
while True:
    os.kill(other, signal.SIGCONT)
    os.kill(os.getpid(), signal.SIGSTOP)
"""
HEADLESS = """
import ctypes, os, threading
def work():
    while True:
        pass
threading.Thread(target=work).start()
number = {"x86_64": 60, "aarch64": 93}[os.uname().machine]
ctypes.CDLL(None).syscall(number, 0)
"""
# adopts what is below it, as a keeper does, and waits
KEEPER = """
import subprocess, sys
from deep500.supervision.kernel import adopt_orphans
adopt_orphans()
print(subprocess.Popen([sys.executable, "-c", *sys.argv[1:]]).pid, flush=True)
sys.stdin.read()
"""


def cpu_seconds(pids: set[int]) -> list[int]:
    """The CPU time of each of these, as the kernel has it in /proc/PID/task/TID/schedstat."""
    return [
        int(file.read_text().split()[0])
        for pid in sorted(pids)
        for file in sorted(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    ]


def has_begun(keeper: int, first: int) -> bool:
    """Whether the first process is not the only one any more, or has ended its first thread."""
    return len(descendants(keeper)) > 1 or states({first}) == {"Z"}


@pytest.mark.parametrize("program", [HEADLESS, WAKING, HOPPER])
def test_nobody_works_on_after_a_stop(program: str) -> None:
    """Neither behind a first thread that has ended, nor by waking each other, nor by handing over to new processes."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", KEEPER, program, "0.002"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as keeper:
        try:
            assert keeper.stdout is not None
            first = int(keeper.stdout.readline())
            deadline = time.monotonic() + 20
            while not has_begun(keeper.pid, first) and time.monotonic() < deadline:
                time.sleep(0.01)
            try:
                stopped = stop_below(keeper.pid)
            except StillRunning:
                return  # which is the truth
            assert stopped
            before = cpu_seconds(stopped), descendants(keeper.pid)
            busy = time.process_time() + 0.2
            while time.process_time() < busy:
                pass
            assert (cpu_seconds(stopped), descendants(keeper.pid)) == before
        finally:
            end_below(keeper.pid)
            keeper.kill()
