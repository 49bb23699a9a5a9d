"""The C++ compiler, asked once for everything: what it built is kept by the hash of all that went into it."""

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
SHOWN = 6  # lines of the compiler's own


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
    """The shared library of a C++ source, from the cache if it is there; `text` may include files beside `folder`.

    `depends` stands for the headers that the source includes; without it they are all read, to see whether one changed.
    With other flags in `kind` it is an object file or a program.
    """
    command = [*compiler(), *kind, *flags, "-x", "c++", "-"]
    if depends is None:
        depends = _compile(name, [*command, "-E"], text, folder, seconds)
    parts = (text, depends, *command, version(), _processor())
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    target = (
        home.cache() / "built" / f"{re.sub(r'[^A-Za-z0-9_]', '_', name)}-{key}{suffix}"
    )
    if not target.is_file():
        home.make_folder(target.parent, "DEEP500_CACHE")
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            made = Path(scratch) / "built"
            _compile(name, [*command, "-o", str(made)], text, folder, seconds)
            os.replace(made, target)  # at once: another process may build the same
    return target


def compiler() -> list[str]:
    """$CXX or g++."""
    command = shlex.split(os.environ.get("CXX", "")) or ["g++"]
    if shutil.which(command[0]) is None:
        raise Unsupported(
            f"operators in C++ need a compiler, and there is no {command[0]}: install g++, or set CXX"
        )
    return command


def version() -> str:
    return _version(tuple(compiler()))


@cache
def _version(command: tuple[str, ...]) -> str:
    return subprocess.run(
        [*command, "--version"], capture_output=True, text=True, check=False
    ).stdout


@cache
def _processor() -> str:
    """What -march=native stands for here; a home folder may be shared between machines."""
    try:
        facts = (
            Path("/proc/cpuinfo")
            .read_text(encoding="utf-8")
            .split("\n\n")[0]
            .splitlines()
        )
    except OSError:
        return platform.processor()
    return "\n".join(
        line
        for line in facts
        if line.startswith(("model name", "flags", "Features", "CPU part"))
    )


def _compile(
    name: str, command: list[str], text: str, folder: Path, seconds: float
) -> str:
    """What the compiler writes; its complaints become the error."""
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
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(
                        process.pid, signal.SIGKILL
                    )  # the compiler proper is a child of its driver
    if process.returncode:
        raise Deep500Error(_readable(name, complaints))
    return output


def _readable(name: str, complaints: str) -> str:
    """One line that says where and what, then the compiler's own first lines."""
    lines = complaints.splitlines()
    first = next(
        (
            i
            for i, line in enumerate(lines)
            if re.search(r"\berror:|undefined reference|cannot find", line)
        ),
        0,
    )
    count = sum("error:" in line for line in lines)
    more = f" (and {count - 1} more)" if count > 1 else ""
    reason = re.sub(r"\s+", " ", lines[first]) if lines else "the compiler says nothing"
    return "\n".join(
        [
            f"{name} does not compile: {reason}{more}",
            *lines[first + 1 : first + 1 + SHOWN],
        ]
    )


def _english() -> dict[str, str]:
    return os.environ | {"LC_ALL": "C"}
