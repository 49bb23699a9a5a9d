"""Users of sandboxes: no two at once have the same id, and what a process held is free when it has ended."""

import os
import signal
import subprocess
import sys

import pytest

from deep500.supervision import sandbox_user
from deep500.supervision.sandbox_user import _free_ids, lease_user

WHOLE = "         0          0 4294967295"
HOLDER = """
import sys
from deep500.supervision import sandbox_user
sandbox_user.UNUSED = range(int(sys.argv[1]), int(sys.argv[1]) + 1)
user = sandbox_user.lease_user()
print(user.number, flush=True)
sys.stdin.read()
"""


def test_no_two_at_once_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    few = range(sandbox_user.UNUSED.start, sandbox_user.UNUSED.start + 3)
    monkeypatch.setattr(sandbox_user, "UNUSED", few)
    held = [lease_user() for _ in few]
    numbers = [user.number for user in held if user is not None]
    assert sorted(numbers) == [*few]
    assert lease_user() is None
    assert held[0] is not None
    held[0].close()
    again = lease_user()
    assert again is not None and again.number == held[0].number
    for user in (again, *held[1:]):
        assert user is not None
        user.close()


def test_a_killed_holder_frees_its_user(monkeypatch: pytest.MonkeyPatch) -> None:
    number = sandbox_user.UNUSED.stop - 1
    command = [sys.executable, "-c", HOLDER, str(number)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == f"{number}\n"
        monkeypatch.setattr(sandbox_user, "UNUSED", range(number, number + 1))
        assert lease_user() is None
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        freed = lease_user()
        assert freed is not None and freed.number == number
        freed.close()


@pytest.mark.parametrize(
    "id_map, ids",
    [
        ([WHOLE], sandbox_user.UNUSED),
        (["0 100000 65536"], sandbox_user.SHORT_LIVED),
        (["0 1000 1", "1 100000 65536"], sandbox_user.SHORT_LIVED),
        (["1000 1000 1"], range(0)),
    ],
)
def test_only_ids_that_exist_here(id_map: list[str], ids: range) -> None:
    assert _free_ids(id_map) == ids
