"""Runs the C++ compiler, and caches what it built by a hash of everything that went into it."""

import contextlib
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .. import home
from ..errors import Deep500Error, Unsupported

INCLUDE = Path(__file__).parents[1] / "include"
COMMON = ("-march=native", "-w", f"-I{INCLUDE}")
# Symbols stay inside each library: two operators may share a class name and differ in their definitions.
LIBRARY = (
    "-O3",
    *COMMON,
    "-fopenmp",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-gnu-unique",
)
SECONDS = 120.0
SHOWN = 6  # lines of the compiler's messages


def build(
    name: str,
    text: str,
    folder: Path,
    flags: Sequence[str] = (),
    depends: str | None = None,
    seconds: float = SECONDS,
    kind: Sequence[str] = LIBRARY,
    suffix: str = ".so",
) -> Path:
    """The shared library of a C++ source, from the cache if it is there; `text` may include files of `folder`.

    `depends` is the text of the headers that the source includes; without it the preprocessor reads them, to see
    whether one changed. With other flags in `kind` the result is an object file or a program.
    """
    command = [*compiler(), *kind, *flags, "-x", "c++", "-"]
    return cached(name, command, version(), text, folder, depends, seconds, suffix)


def cached(
    name: str,
    command: Sequence[str],
    compiler_version: str,
    text: str,
    folder: Path,
    depends: str | None = None,
    seconds: float = SECONDS,
    suffix: str = ".so",
) -> Path:
    """What the command of a compiler makes of a text on its standard input, from the cache if it is there."""
    command = [*command]
    if depends is None:
        depends = _compile(name, [*command, "-E"], text, folder, seconds)
    parts = (text, depends, *command, compiler_version, _processor())
    content = "\0".join(parts).encode()
    key = hashlib.sha256(content).hexdigest()[:24]
    stem = re.sub(r"[^A-Za-z0-9_]", "_", name)
    cache_folder = home.cache() / "built"
    target = cache_folder / f"{stem}-{key}{suffix}"
    if target.is_file():
        return target
    home.make_folder(target.parent, "DEEP500_CACHE")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        built = Path(scratch) / "built"
        _compile(name, [*command, "-o", str(built)], text, folder, seconds)
        os.replace(built, target)  # atomic: another process may build the same
    return target


def compiler() -> list[str]:
    """The command of $CXX, or else g++; raises `Unsupported` if there is none."""
    command = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    if shutil.which(command[0]) is None:
        raise Unsupported(
            f"operators in C++ need a compiler, and there is no {command[0]}: install g++, or set CXX"
        )
    return command


def can_build() -> bool:
    """Whether there is a compiler."""
    try:
        compiler()
    except Unsupported:
        return False
    return True


def version() -> str:
    return version_of(tuple(compiler()))


@cache
def version_of(command: tuple[str, ...]) -> str:
    """What a compiler says of itself."""
    process = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, check=False
    )
    return process.stdout


@cache
def _processor() -> str:
    """The processor that -march=native means here; a home folder may be shared between machines."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    first, *_ = text.split("\n\n")
    keys = ("model name", "flags", "Features", "CPU part")
    lines = [line for line in first.splitlines() if line.startswith(keys)]
    return "\n".join(lines)


def _compile(
    name: str, command: list[str], text: str, folder: Path, seconds: float
) -> str:
    """The output of the compiler; its error messages become a `Deep500Error`."""
    with tempfile.TemporaryFile("w+") as source:
        source.write(text)
        source.seek(0)
        with subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            cwd=folder,
            start_new_session=True,
            env=_english(),
        ) as process:
            try:
                output, complaints = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                raise Deep500Error(
                    f"{name} was still compiling after {seconds:g} s, and was stopped: make it "
                    "simpler"
                ) from None
            finally:
                # The compiler proper is a child of its driver.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise Deep500Error(_readable(name, complaints))
    return output


def _readable(name: str, complaints: str) -> str:
    """One line with the place and the error, then the next lines of the compiler's messages."""
    lines = complaints.splitlines()
    first = _first_error(lines)
    reason = "the compiler says nothing"
    if lines:
        reason = re.sub(r"\s+", " ", lines[first])
    count = sum("error:" in line for line in lines)
    more = ""
    if count > 1:
        more = f" (and {count - 1} more)"
    summary = f"{name} does not compile: {reason}{more}"
    start = first + 1
    details = lines[start : start + SHOWN]
    return "\n".join([summary, *details])


def _first_error(lines: Sequence[str]) -> int:
    """The index of the first line with an error; 0 if there is none."""
    for index, line in enumerate(lines):
        if re.search(r"\berror:|undefined reference|cannot find", line):
            return index
    return 0


def _english() -> dict[str, str]:
    return os.environ | {"LC_ALL": "C"}
