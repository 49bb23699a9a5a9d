"""Start the ranks of a command on this machine, watch them, and leave none behind."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import INTERNAL, Deep500Error, Unsupported, unknown
from ..supervision.descendants import descendants
from ..supervision.kernel import adopt_orphans
from .failures import FOLDER, LeftFailure, left_failures

POLL_SECONDS = 0.02
TRANSPORTS = ("mpi", "torch")
MOST_RANKS = 256
# Runs a rank and notes how it ended: MPI's launchers do not say which rank died, and end the others at once (MPICH's,
# by SIGUSR1). What the shell itself says about a killed rank is dropped.
NOTE = """
trap "" USR1
exec 3>&2 2>/dev/null
(exec 2>&3 3>&-; exec "$@")
echo $? > "$DEEP500_RANK_ERRORS/ended-${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
"""
NOTING = ("sh", "-c", NOTE, "rank")
SIGNALLED = 128  # above this, a shell's exit code means a signal
VERDICTS = (0, 1, 2, 3, INTERNAL)  # exit codes of verbs
LOST = 2
# seconds for the others to notice that a process is gone, which they are told by the engine
GRACE_AFTER_SIGNAL = 8.0


@dataclass(frozen=True)
class Launched:
    """How the ranks ended, and what they said.

    `codes` are the exit codes by rank, minus the number of a signal; a rank that was ended by MPI's launcher has none.
    `first` is the rank that ended badly before the others did, with its code. `failures` are what ranks left for us.
    """

    codes: dict[int, int]
    output: str
    errors: list[str]
    first: tuple[int, int] | None
    failures: list[LeftFailure]

    @property
    def code(self) -> int:
        """What the whole ended with: 2 if a rank was lost, else that of the first rank that did not end with 0."""
        if self.first is not None and self.first[1] < 0:
            return LOST
        code = next((code for code in self.codes.values() if code), 0)
        return code if code in VERDICTS else LOST


def launch(
    command: Sequence[str],
    ranks: int,
    transport: str,
    *,
    grace: float = 30.0,
    capture: bool = False,
    env: Mapping[str, str] | None = None,
) -> Launched:
    """Run a command as so many ranks, and wait for all of them.

    When one ends badly, the others have `grace` seconds to notice and to end (fewer after a signal, which they notice
    at once); then they are killed. With `capture`, what they print is returned instead of shown.
    """
    if transport not in TRANSPORTS:
        raise unknown("transport with processes", transport, TRANSPORTS)
    if not 1 <= ranks <= MOST_RANKS:
        raise Deep500Error(
            f"{ranks} ranks cannot be started here: give 1 to {MOST_RANKS}"
        )
    adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        group = _Group(Path(folder), capture, {**os.environ, **(env or {})})
        try:
            group.is_mpi = transport == "mpi"
            if group.is_mpi:
                group.start([*_mpiexec(), "-n", str(ranks), *NOTING, *command], {})
            else:
                group.start_each(command, ranks)
            first = group.wait(grace)
        finally:
            group.kill()
        # mpiexec's own, if nobody noted any
        codes = group.codes() or {0: group.processes[0].returncode}
        return Launched(
            codes,
            group.output(),
            group.errors(),
            first,
            left_failures(group.folder),
        )


class _Group:
    """The processes of a launch."""

    def __init__(self, folder: Path, capture: bool, env: Mapping[str, str]):
        self.folder = folder
        self.capture = capture
        self.env = {**env, FOLDER: str(folder)}
        self.processes: list[subprocess.Popen] = []
        self.is_mpi = False
        # processes that are not ours to end
        self.others = descendants(os.getpid())

    def start_each(self, command: Sequence[str], ranks: int) -> None:
        address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
        for rank in range(ranks):
            about = {
                "RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_RANK": str(rank),
            }
            self.start(
                command,
                {
                    "GLOO_SOCKET_IFNAME": "lo",
                    # its warnings about ranks that are gone would come before our line
                    "TORCH_CPP_LOG_LEVEL": "ERROR",
                    **address,
                    **about,
                },
            )

    def start(self, command: Sequence[str], more: Mapping[str, str]) -> None:
        number = len(self.processes)
        out = None
        if self.capture:
            out = open(self.folder / f"out-{number}", "wb")  # noqa: SIM115
        try:
            process = subprocess.Popen(
                command,
                env={**self.env, **more},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        except OSError as error:
            raise Deep500Error(
                f"{command[0]} cannot be started: {error.strerror}"
            ) from None
        finally:
            if out is not None:
                out.close()
        self.processes.append(process)

    def wait(self, grace: float) -> tuple[int, int] | None:
        """Until all have ended, or the grace is over; the first that ended badly, with its code."""
        first: tuple[int, int] | None = None
        deadline = float("inf")
        while any(process.poll() is None for process in self.processes):
            if first is None:
                first = self._ended_badly()
                if first is not None:
                    is_signal = first[1] < 0
                    limit = GRACE_AFTER_SIGNAL if is_signal else grace
                    deadline = time.monotonic() + min(limit, grace)
            if time.monotonic() > deadline:
                return first
            time.sleep(POLL_SECONDS)
        return first or self._ended_badly()

    def _ended_badly(self) -> tuple[int, int] | None:
        """A rank that has left a failure; else one that was killed comes before one that ended with an error."""
        if failures := left_failures(self.folder):
            return failures[0].rank, LOST
        bad = [(rank, code) for rank, code in self.codes().items() if code]
        bad.sort(key=lambda pair: pair[1] >= 0)
        return bad[0] if bad else None

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for pid in descendants(os.getpid()) - self.others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def codes(self) -> dict[int, int]:
        """The exit codes of the ranks that have ended, as far as they are known."""
        noted = sorted(self.folder.glob("ended-*"))
        if noted or self.is_mpi:
            return dict(map(_noted_end, noted))
        codes = {}
        for rank, process in enumerate(self.processes):
            if process.poll() is not None:
                codes[rank] = process.returncode
        return codes

    def output(self) -> str:
        files = sorted(self.folder.glob("out-*"))
        return "".join(file.read_text(errors="replace") for file in files)

    def errors(self) -> list[str]:
        """What ranks but the first have said."""
        files = sorted(self.folder.glob("rank-*"))
        texts = [file.read_text(errors="replace").strip() for file in files]
        return [text for text in texts if text]


def _mpiexec() -> list[str]:
    """The launcher that goes with this Python, or the site's own."""
    ours = Path(sysconfig.get_path("scripts")) / "mpiexec"
    launcher = shutil.which("mpiexec")
    if ours.exists():
        launcher = str(ours)
    if launcher is None:
        raise Unsupported(
            "there is no mpiexec: install MPI (pip install 'deep500-bench[mpi]'), or use the "
            "transport torch or virtual"
        )
    version = subprocess.run(
        [launcher, "--version"], capture_output=True, text=True, timeout=30
    )
    if "HYDRA" not in version.stdout:
        return [launcher]
    # MPICH would kill all ranks when one dies, before anyone can say which
    return [launcher, "-disable-auto-cleanup"]


def _noted_end(file: Path) -> tuple[int, int]:
    """The rank and the exit code that a shell noted; minus the number of a signal, 0 while it is being written."""
    rank = int(file.name.removeprefix("ended-"))
    code = int(file.read_text().strip() or 0)
    if code > SIGNALLED:
        code = SIGNALLED - code
    return rank, code


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def python_command(*words: str) -> list[str]:
    """This Python with these arguments."""
    return [sys.executable, *words]
