"""Read a host's own files and commands; whatever cannot be read raises `Unavailable` with the reason."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

PIECE = 65_536
MOST_PIECES = 128  # the longest file read is /proc/self/maps
COMMAND_TIMEOUT_S = 2.0


class Unavailable(Exception):
    """A fact or a reading is not available on this machine; the message says why."""


class HostFiles:
    """The machine below a root folder; tests give a folder that holds files of their own."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.root = root
        self._outputs: dict[tuple[str, ...], str | Unavailable] = {}

    def text(self, path: str) -> str:
        try:
            with open(self._below_root(path), "rb") as file:
                # In pieces: some kernel files refuse a read whose buffer is large.
                pieces = [file.read(PIECE)]
                while pieces[-1] and len(pieces) < MOST_PIECES:
                    pieces.append(file.read(PIECE))
            return b"".join(pieces).decode("utf-8", errors="replace")
        except OSError as error:
            raise _unavailable(path, error) from None

    def line(self, path: str) -> str:
        text = self.text(path).strip(" \t\r\n\0")
        if not text:
            raise Unavailable(f"{path}: empty")
        return text

    def number(self, path: str) -> int:
        return whole(self.line(path), path)

    def field(self, path: str, key: str) -> str:
        """The value of `key` in a file of `key: value` lines."""
        for line in self.text(path).splitlines():
            name, colon, value = line.partition(":")
            if colon and name.strip() == key:
                return value.strip()
        raise Unavailable(f"{path}: no line {key!r}")

    def link_name(self, path: str) -> str:
        """The last part of what a symbolic link points to."""
        try:
            target = os.readlink(self._below_root(path))
        except OSError as error:
            raise _unavailable(path, error) from None
        return os.path.basename(target)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._below_root(path))

    def glob(self, pattern: str) -> list[str]:
        """The paths that match, as seen from the root, in order."""
        matches = self.root.glob(pattern.lstrip("/"))
        return sorted(f"/{path.relative_to(self.root)}" for path in matches)

    def overwrite(self, path: str, text: str) -> None:
        """Write to an existing file; never creates one."""
        try:
            descriptor = os.open(self._below_root(path), os.O_WRONLY)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError as error:
            raise _unavailable(path, error) from None

    def command(self, *command: str) -> str:
        """The output of a command; it runs once per host, later calls return the same output."""
        if command not in self._outputs:
            self._outputs[command] = _run(command)
        output = self._outputs[command]
        if isinstance(output, Unavailable):
            raise output
        return output

    @cached_property
    def cpuinfo(self) -> list[dict[str, str]]:
        """One dictionary for every processor in /proc/cpuinfo (slow to read on large machines, so once)."""
        processors = []
        for block in self.text("/proc/cpuinfo").split("\n\n"):
            fields = dict(_pairs(block))
            if fields:
                processors.append(fields)
        if not processors:
            raise Unavailable("/proc/cpuinfo: names no processor")
        return processors

    def _below_root(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def _unavailable(path: str, error: OSError) -> Unavailable:
    reason = error.strerror or error
    return Unavailable(f"{path}: {reason}")


def whole(text: str, origin: str) -> int:
    """A whole number as kernel files write it; raises Unavailable, naming the `origin`, for any other text."""
    try:
        return int(text)
    except ValueError:
        start = text[:40]
        raise Unavailable(f"{origin}: {start!r} is not a whole number") from None


def cpu_list(text: str) -> list[int]:
    """The numbers in a kernel list such as `0-3,8`."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        low = whole(first, "list of CPUs")
        high = whole(last or first, "list of CPUs")
        if not 0 <= low <= high < 1_000_000:
            raise Unavailable(f"list of CPUs: {part[:40]!r} is not a range")
        numbers.extend(range(low, high + 1))
    return numbers


def _pairs(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            yield name.strip(), value.strip()


def _run(command: tuple[str, ...]) -> str | Unavailable:
    """The output of a command, or the reason why there is none."""
    name = command[0]
    if shutil.which(name) is None:
        return Unavailable(f"{name} is not on PATH")
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_TIMEOUT_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Unavailable(f"{name} did not answer within {COMMAND_TIMEOUT_S:g} s")
    except OSError as error:
        reason = error.strerror or error
        return Unavailable(f"{name} cannot be started: {reason}")
    code = process.returncode
    if code != 0:
        errors = process.stderr.decode(errors="replace").strip()
        lines = errors.splitlines() or ["no message"]
        message = lines[0][:200]
        return Unavailable(f"{name} failed with exit code {code}: {message}")
    return process.stdout.decode(errors="replace")
