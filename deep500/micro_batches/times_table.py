"""Times of convolutions that were measured on this machine: a file of lines that is only ever appended to."""

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from .. import convolutions, home
from ..errors import Deep500Error
from ..measure.machine.host import compute, software
from ..measure.machine.host.files import HostFiles, Unavailable
from ..schema import decoded, encoded

FILE = "convolution_times.jsonl"
PACKAGES = ("deep500-bench", "numpy", "scipy")
# why a plan was timed: to choose among all of them, or again, after it was chosen
SEARCH = "search"
AGAIN = "again"


@dataclass(frozen=True)
class TimedPlan:
    """A line: the time of one convolution by one plan, on one machine, with its interval if it has one."""

    machine: str
    versions: str
    problem: str
    direction: str
    plan: str
    threads: int
    purpose: str
    seconds: float
    low: float | None
    high: float | None
    n: int
    measured: str

    @property
    def key(self) -> tuple[Any, ...]:
        return self.problem, self.direction, self.plan, self.threads, self.purpose


@cache
def machine() -> str:
    """This machine's processor and its number of CPUs."""
    host = HostFiles()
    try:
        return f"{compute.cpu_model(host)}, {compute.logical_cpus(host)} CPUs"
    except (Unavailable, OSError, ValueError, LookupError):
        return "unknown"


@cache
def versions() -> str:
    """The versions of what computes; our own algorithms count by their source."""
    host = HostFiles()
    texts = [f"{name} {software.package(name)(host)}" for name in PACKAGES]
    digest = hashlib.sha256()
    folder = Path(convolutions.__file__).parent
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".cpp", ".h", ".hpp"):
            digest.update(path.read_bytes())
    texts.append(f"convolutions {digest.hexdigest()[:12]}")
    return ", ".join(texts)


class TimesTable:
    """The times for this machine and these versions; those of others stay in the file."""

    def __init__(self, path: Path | None = None):
        self.path = path or home.home() / FILE
        self._times: dict[tuple[Any, ...], TimedPlan] = {}
        for line in self._lines():
            timed = _parsed(line)
            if timed and (timed.machine, timed.versions) == (machine(), versions()):
                self._times[timed.key] = timed

    def find(
        self, problem: str, direction: str, plan: str, threads: int, purpose: str
    ) -> TimedPlan | None:
        return self._times.get((problem, direction, plan, threads, purpose))

    def add(self, **values: Any) -> TimedPlan:
        """Append a line, which is on disk when this returns."""
        timed = TimedPlan(
            machine=machine(),
            versions=versions(),
            measured=datetime.now(UTC).isoformat(timespec="seconds"),
            **values,
        )
        line = json.dumps(encoded(timed)) + "\n"
        home.make_folder(self.path.parent, "DEEP500_HOME")
        try:
            _append(self.path, line.encode())
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be written ({error.strerror}): set DEEP500_HOME to a folder that can"
            ) from None
        self._times[timed.key] = timed
        return timed

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be read ({error.strerror}): set DEEP500_HOME to another folder"
            ) from None


def _parsed(line: bytes) -> TimedPlan | None:
    """The time in a line; None for one that a killed process has not finished."""
    try:
        return decoded(TimedPlan, json.loads(line), FILE)
    except (ValueError, Deep500Error):
        return None


def _append(path: Path, line: bytes) -> None:
    """Add a line by one write, below what a killed process may have left of another."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            line = b"\n" + line
        os.write(descriptor, line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
