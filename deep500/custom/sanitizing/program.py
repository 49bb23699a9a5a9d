"""A C++ operator as a program with a sanitizer in it: built, run until its deadline, its report read."""

import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...contracts.dtypes import name_of
from ...contracts.operator import Tensor
from ...errors import Deep500Error, Unsupported
from ..building import COMMON, INCLUDE, build
from ..cpp import LANGUAGE, TYPES, CppOp, float_of
from ..operators import Arrays
from .reports import USER, Finding, Memory, findings

HERE = Path(__file__).parent
FLAGS = ("-O1", "-g1", "-fno-omit-frame-pointer", *COMMON)
CALLS = 3
THREADS = 4
OPTIONS = {
    "TSAN_OPTIONS": "atexit_sleep_ms=0",
    "ASAN_OPTIONS": "redzone=1024:detect_stack_use_after_return=1:handle_abort=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# What the sanitizers keep beside the program's memory has fixed addresses, which random ones may hit.
LAUNCH = """
import ctypes, os, resource, signal, sys
libc = ctypes.CDLL(None)
libc.prctl(1, signal.SIGKILL)  # with the parent
libc.personality(0x0040000)  # ADDR_NO_RANDOMIZE
resource.setrlimit(resource.RLIMIT_FSIZE, (10**7, 10**7))  # bytes of the report
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True)
class Sanitizer:
    """One of GCC's, and what to install where it is missing."""

    name: str
    flags: tuple[str, ...]
    library: str


THREAD = Sanitizer("ThreadSanitizer", ("-fsanitize=thread",), "libtsan")
MEMORY = Sanitizer(
    "AddressSanitizer",
    ("-fsanitize=address,undefined", "-D_GLIBCXX_SANITIZE_VECTOR=1"),
    "libasan and libubsan",
)


def sanitized(
    op: CppOp, inputs: Arrays, grads: Arrays | None, seconds: float
) -> list[Finding]:
    """What GCC's address, undefined-behaviour and thread sanitizers find on these arrays; nothing if all is well.

    `grads`, one per output, are for backward; None leaves it out. There are three runs of at most `seconds` each, until
    one finds something: with address and undefined, with thread, and with thread while two calls run at once.
    Raises Unsupported without the sanitizers, and Deep500Error if the operator fails or does not end in time.
    """
    kinds = [Tensor(x.shape, x.dtype.name) for x in inputs]
    dtype = float_of(kinds)
    op = op.in_dtype(dtype)
    run = _Run(op, _case(op, kinds, inputs, grads), seconds)
    found = run.findings(_program(op, MEMORY, dtype))
    if found:
        return found
    program = _program(op, THREAD, dtype)
    return run.findings(program) or run.findings(program, at_once=2)


def _program(op: CppOp, sanitizer: Sanitizer, dtype: str) -> Path:
    flags = (*FLAGS, *sanitizer.flags)
    folder = f"-ffile-prefix-map={op.folder}={USER}"
    own = (*LANGUAGE, "-fopenmp", folder, *op.definition_flags(dtype))
    name = op.source.name
    try:
        objects = [
            build(name, op.text, op.folder, own, kind=(*flags, "-c"), suffix=".o"),
            *(_runtime(file, flags) for file in ("harness.cpp", "openmp.cpp")),
        ]
        # Without -fopenmp: nothing may come from libgomp.
        return build(
            name, "", op.folder, [*map(str, objects)], "", kind=flags, suffix=".program"
        )
    except Unsupported:
        raise
    except Deep500Error as error:
        raise _explained(name, sanitizer, error) from None


def _runtime(file: str, flags: Sequence[str]) -> Path:
    text = f'#line 1 "{file}"\n{(HERE / file).read_text(encoding="utf-8")}'
    header = (INCLUDE / "deep500" / "deep500.h").read_text(encoding="utf-8")
    own = (*LANGUAGE, "-fno-sanitize=undefined")
    return build(file, text, HERE, own, header, kind=(*flags, "-c"), suffix=".o")


def _explained(name: str, sanitizer: Sanitizer, error: Deep500Error) -> Deep500Error:
    text = str(error)
    if re.search(
        r"cannot find \S*lib\w+san|cannot find -l\S*san|fsanitize=\S* .*not supported",
        text,
    ):
        return Unsupported(
            f"{name} cannot be checked with {sanitizer.name}, as the compiler has no library for it: "
            f"install {sanitizer.library} of the same version as g++"
        )
    if missing := re.search(
        r"undefined reference to `((?:GOMP|omp|__kmpc)_\w+)'", text
    ):
        return Unsupported(
            f"{name} uses a part of OpenMP that sanitized programs lack ({missing[1]}): parallel, for, "
            "sections, single, critical, atomic, barrier, ordered, task and taskloop are there, with g++"
        )
    return error


def _case(
    op: CppOp, kinds: Sequence[Tensor], inputs: Arrays, grads: Arrays | None
) -> bytes:
    """What harness.cpp reads."""
    outputs = op.infer(*kinds)
    parts = [struct.pack("=iii", len(kinds), len(outputs), grads is not None)]
    for tensor in (*kinds, *outputs):
        rank = len(tensor.shape)
        parts.append(
            struct.pack(
                f"=ii{rank}I", TYPES[name_of(tensor.dtype)], rank, *tensor.shape
            )
        )
        parts.append(struct.pack("=Q", _bytes(tensor)))
    parts += [np.ascontiguousarray(x).tobytes() for x in inputs]
    for gradient, tensor in zip(grads or (), outputs, strict=grads is not None):
        parts.append(np.ascontiguousarray(gradient, tensor.dtype).tobytes())
    return b"".join(parts)


def _bytes(tensor: Tensor) -> int:
    return int(np.prod(tensor.shape, dtype=int)) * np.dtype(tensor.dtype).itemsize


@dataclass(frozen=True)
class _Run:
    """An operator on given arrays, until a deadline."""

    op: CppOp
    case: bytes
    seconds: float

    def findings(self, program: Path, at_once: int = 1) -> list[Finding]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            (folder / "case").write_bytes(self.case)
            (folder / "reply").touch()
            ending = self._ending(program, folder, at_once)
            report = (folder / "stderr").read_text(encoding="utf-8", errors="replace")
            reply = (
                (folder / "reply")
                .read_text(encoding="utf-8", errors="replace")
                .splitlines()
            )
        found = findings(report, Memory.of(self.op, reply), calls=at_once)
        if not found and "done" not in reply:
            raise self._failure(ending, reply, report)
        return found

    def _ending(self, program: Path, folder: Path, at_once: int) -> str:
        """How the process ended, in words."""
        words = ["case", "reply", str(THREADS // at_once), str(CALLS), str(at_once)]
        with (folder / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", LAUNCH, str(program), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=folder,
                env={**os.environ, **OPTIONS, "LD_PRELOAD": ""},
                start_new_session=True,
            )
        try:
            code = process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return f"was still running after {self.seconds:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code < 0:
            return f"was ended by signal {signal.Signals(-code).name}"
        return f"ended with exit code {code}, before its last call"

    def _failure(self, ending: str, reply: Sequence[str], report: str) -> Deep500Error:
        faults = [line for line in reply if line.startswith("fault ")]
        if faults:
            return Deep500Error(
                f"{self.op.name}: {faults[0].removeprefix('fault ')[:300]}"
            )
        if fatal := re.search(r"FATAL: \w+Sanitizer.*", report):
            return Unsupported(
                f"the sanitizers do not work on this machine: {fatal[0][:200]}"
            )
        return Deep500Error(f"{self.op.name}, built with a sanitizer, {ending}")
