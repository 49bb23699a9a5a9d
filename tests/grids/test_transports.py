"""Every scheme on every transport, whatever happens in it, whoever starts the ranks: the same outcome and line."""

import contextlib
import io
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from deep500 import registry
from deep500.cli import main
from deep500.supervision.descendants import descendants

ROOT = Path(__file__).parents[2]
SCHEMES = registry.known("schemes")
TRANSPORTS = [name.lower() for name in registry.known("transports")]
EVENTS = (
    "runs",
    "raises",
    "deadlock",
    "mismatch",
    "length",
    "late length",
    "killed",
    "never yields",
)
LAUNCHERS = ("d5", "own")  # d5 run --ranks, or the user's own mpiexec or torchrun
RECIPE = """
import os

import numpy as np

import deep500 as d5
from deep500.contracts.transport import all_reduce, receive, send


class Planted(d5.schemes.{scheme}):
    event: str = ""

    def epoch(self, worker):
        if self.event == "deadlock":
            yield from receive(1 - worker.rank, np.zeros(3))
        if self.event == "mismatch":
            yield from all_reduce(np.zeros(10 + worker.rank))
        if self.event == "length" and worker.rank == 0:
            yield from send(1, np.zeros(3), tag=5)
        if self.event == "length" and worker.rank == 1:
            yield from receive(0, np.zeros(4), tag=5)
        for count in range(9 if self.event == "late length" else 0):
            array = np.zeros(50000 if (worker.rank, count) == (0, 7) else 4)
            if worker.rank == 0:
                yield from send(1, array, tag=5)
            if worker.rank == 1:
                yield from receive(0, array, tag=5)
        program = super().epoch(worker)
        answer = None
        for count in range(10**9):
            try:
                step = program.send(answer)
            except StopIteration:
                return
            if count == 3 and worker.rank == 1 and self.event == "killed":
                os.kill(os.getpid(), 9)
            if count == 3 and worker.rank == 1 and self.event == "raises":
                1 / 0
            answer = yield step


class NeverYields(d5.schemes.{scheme}):
    def epoch(self, worker):
        for _ in worker.batches():
            worker.backprop()
            worker.update()


FIXED = {{"model": "mlp", "model_kwargs": {{"hidden": (4,)}}, "dataset": "digits", "epochs": 1}}
MUTABLE = {{
    "batch_size": 300,
    "ranks": 2,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
    "scheme": {planted},
}}
METRICS = [(d5.TestAccuracy(), None)]
"""


def _line(text: str) -> int:
    """The number of the line of the recipe with this text."""
    before, _, _ = RECIPE.partition(text)
    return before.count("\n") + 1


class Cell(NamedTuple):
    scheme: str
    transport: str
    event: str
    launcher: str


class Outcome(NamedTuple):
    """The exit code, the lines that we have printed about failures, and all that was printed."""

    code: int
    lines: list[str]
    output: str


def cells() -> list[Cell]:
    """All combinations that exist: virtual ranks have no launcher, and cannot be killed one by one."""
    found = []
    for cell in map(Cell._make, product(SCHEMES, TRANSPORTS, EVENTS, LAUNCHERS)):
        is_virtual = cell.transport == "virtual"
        if not (is_virtual and (cell.launcher == "own" or cell.event == "killed")):
            found.append(cell)
    return found


QUICK = {
    *(
        Cell(scheme, "virtual", event, "d5")
        for scheme in ("LocalSGD", "ParameterServer")
        for event in EVENTS
        if event != "killed"
    ),
    Cell("LocalSGD", "mpi", "raises", "d5"),
    Cell("AllReduce", "mpi", "mismatch", "own"),
    Cell("PairwiseGossip", "torch", "length", "d5"),
}
PARAMS = [
    pytest.param(
        cell, marks=() if cell in QUICK else pytest.mark.slow, id="-".join(cell)
    )
    for cell in cells()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transports")


@pytest.mark.parametrize("cell", PARAMS)
def test_the_outcome_is_that_of_virtual_ranks(cell: Cell, folder: Path) -> None:
    before = descendants(os.getpid())
    outcome = _outcome(cell, folder)
    if cell.event == "runs":
        assert (outcome.code, outcome.lines) == (0, []), outcome.output
    elif cell.event == "killed":
        _check_killed(cell, outcome)
    else:
        [line] = outcome.lines or [outcome.output]
        wanted = _outcome(cell._replace(transport="virtual", launcher="d5"), folder)
        assert line == wanted.lines[0]
        assert EXPECTED[cell.event] in line
        # torchrun ends with 1 whatever its ranks end with
        is_torchrun = (cell.transport, cell.launcher) == ("torch", "own")
        assert outcome.code == (1 if is_torchrun else 2), outcome.output
    assert "Traceback" not in outcome.output or cell[1::2] == ("torch", "own")
    assert descendants(os.getpid()) <= before


EXPECTED = {
    "raises": f"Planted.epoch (planted.py, line {_line('1 / 0')}) raised ZeroDivisionError: division by zero",
    "deadlock": "deadlock of ranks 0 -> 1 -> 0: rank 0 waits for a message from rank 1 (tag 0); rank 1 waits for",
    "mismatch": "collective number 1 is AllReduce(float64, [10], sum) on rank 0 and AllReduce(float64, [11], sum) on",
    "length": "rank 1 expects float64[4] from rank 0 (tag 5), which sent float64[3]",
    "late length": "rank 1 expects float64[4] from rank 0 (tag 5), which sent float64[50000]",
    "never yields": f"NeverYields.epoch (planted.py, line {_line('class NeverYields') + 1}) returns None and",
}


def _check_killed(cell: Cell, outcome: Outcome) -> None:
    """A rank that is killed is named by us, or by the launcher that ends all others at once."""
    if cell.launcher == "d5":
        assert outcome.code == 2
        [line] = outcome.lines or [outcome.output]
        assert "rank 1 was ended by SIGKILL" in line
    elif cell.transport == "torch":
        assert outcome.code == 1
        assert "rank      : 1" in outcome.output and "SIGKILL" in outcome.output
    else:  # MPICH may end rank 0 before it can say anything
        assert outcome.code != 0 and "signal 9" in outcome.output
        for line in outcome.lines:
            assert "rank 1 is lost: rank 0 waited for" in line


@cache
def _outcome(cell: Cell, folder: Path) -> Outcome:
    home = folder / "-".join(cell).replace(" ", "_")
    home.mkdir()
    recipe = home / "planted.py"
    planted = f"Planted(event={cell.event!r})"
    if cell.event == "runs":
        planted = f"d5.schemes.{cell.scheme}()"
    if cell.event == "never yields":
        planted = "NeverYields()"
    recipe.write_text(RECIPE.format(scheme=cell.scheme, planted=planted))
    words = ["run", str(recipe), "--transport", cell.transport, "--seeds", "1"]
    # a deadlock and, on gloo, a later message of another form are found at the deadline; a machine may be slow
    deadline = "15" if cell.event in ("deadlock", "late length") else "60"
    words += ["--deadline", deadline, "--out", str(home / "bundle")]
    if cell.transport == "virtual":
        code, out, err = _in_this_process(words, home)
    else:
        code, out, err = _in_processes([*_launcher(cell), *_d5(), *words], home)
    lines = []
    for line in err.splitlines():
        # torchrun ends the other ranks by SIGTERM
        if line.startswith("d5: ") and "ended by SIGTERM" not in line:
            lines.append(line)
    return Outcome(code, lines, out + err)


def _in_this_process(words: list[str], home: Path) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setenv("DEEP500_HOME", str(home))
        code = main(words)
    return code, out.getvalue(), err.getvalue()


def _in_processes(command: list[str], home: Path) -> tuple[int, str, str]:
    env = {
        **os.environ,
        "DEEP500_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    return done.returncode, done.stdout, done.stderr


def _d5() -> list[str]:
    return [sys.executable, "-m", "deep500.cli"]


def _launcher(cell: Cell) -> list[str]:
    """The command before the command, as a user writes it."""
    if cell.launcher == "d5":
        return []
    scripts = Path(sysconfig.get_path("scripts"))
    if cell.transport == "torch":
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        torchrun = [str(scripts / "torchrun"), "--nproc-per-node=2"]
        return [*torchrun, f"--master-port={port}", "--no-python"]
    mpiexec = str(scripts / "mpiexec")
    if not Path(mpiexec).exists():
        mpiexec = shutil.which("mpiexec") or pytest.skip("no mpiexec")
    return [mpiexec, "-disable-auto-cleanup", "-n", "2"]


def test_the_grid_has_every_scheme_and_transport() -> None:
    assert len(cells()) == len(SCHEMES) * (7 + 2 * 2 * 8)
    assert {cell.scheme for cell in cells()} == {*SCHEMES}
    assert {*cells()} >= QUICK
