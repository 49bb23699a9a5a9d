"""Builds a C++ operator as a program with a sanitizer, runs it until a deadline, and reads the report."""

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
from ...contracts.operator import TensorSpec
from ...errors import Deep500Error, Unsupported
from ..building import COMMON, INCLUDE, build
from ..cpp import LANGUAGE, TYPES, CppOp, float_of
from ..cuda_building import SUFFIX as CUDA_SUFFIX
from ..operators import Arrays
from .reports import USER, Finding, ProgramMemory, findings

HERE = Path(__file__).parent
FLAGS = ("-O1", "-g1", "-fno-omit-frame-pointer", *COMMON)
NO_LIBRARY = re.compile(
    r"cannot find \S*lib\w+san|cannot find -l\S*san|fsanitize=\S* .*not supported"
)
NO_FUNCTION = re.compile(r"undefined reference to `((?:GOMP|omp|__kmpc)_\w+)'")
CALLS = 3
THREADS = 4
OPTIONS = {
    "TSAN_OPTIONS": "atexit_sleep_ms=0",
    "ASAN_OPTIONS": "redzone=1024:detect_stack_use_after_return=1:handle_abort=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
# The sanitizers keep data at fixed addresses, which the random layout of a program may collide with.
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
    """One of GCC's sanitizers, and the library to install if it is missing."""

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
    """What GCC's address, undefined-behaviour and thread sanitizers find on these arrays; empty if all is well.

    `grads`, one per output, are for backward; None leaves it out. There are three runs of at most `seconds` each, until
    one finds something: with address and undefined, with thread, and with thread while two calls run at once.
    Raises Unsupported without the sanitizers, and Deep500Error if the operator fails or does not end in time.
    """
    if op.source.suffix == CUDA_SUFFIX:
        raise Unsupported(
            f"{op.name} is compiled by nvcc, and these sanitizers are GCC's: leave --sanitize out, or use NVIDIA's "
            "compute-sanitizer"
        )
    specs = [TensorSpec(x.shape, x.dtype.name) for x in inputs]
    dtype = float_of(specs)
    op = op.in_dtype(dtype)
    case = _case(op, specs, inputs, grads)
    run = _ProgramRun(op, case, seconds)
    memory_findings = run.findings(_program(op, MEMORY, dtype))
    if memory_findings:
        return memory_findings
    program = _program(op, THREAD, dtype)
    return run.findings(program) or run.findings(program, at_once=2)


def _program(op: CppOp, sanitizer: Sanitizer, dtype: str) -> Path:
    flags = (*FLAGS, *sanitizer.flags)
    compile_flags = (*flags, "-c")
    folder = f"-ffile-prefix-map={op.folder}={USER}"
    op_flags = (*LANGUAGE, "-fopenmp", folder, *op.definition_flags(dtype))
    name = op.source.name
    try:
        operator = build(
            name, op.text, op.folder, op_flags, kind=compile_flags, suffix=".o"
        )
        harness = _runtime("harness.cpp", compile_flags)
        openmp = _runtime("openmp.cpp", compile_flags)
        objects = [str(operator), str(harness), str(openmp)]
        # Without -fopenmp: nothing may come from libgomp.
        return build(name, "", op.folder, objects, "", kind=flags, suffix=".program")
    except Unsupported:
        raise
    except Deep500Error as error:
        raise _explained(name, sanitizer, error) from None


def _runtime(file: str, flags: Sequence[str]) -> Path:
    """An object file of the source of this name beside this module."""
    source = (HERE / file).read_text(encoding="utf-8")
    text = f'#line 1 "{file}"\n{source}'
    header = (INCLUDE / "deep500" / "deep500.h").read_text(encoding="utf-8")
    runtime_flags = (*LANGUAGE, "-fno-sanitize=undefined")
    return build(file, text, HERE, runtime_flags, header, kind=flags, suffix=".o")


def _explained(name: str, sanitizer: Sanitizer, error: Deep500Error) -> Deep500Error:
    """The error, or a better one if the compiler lacks something."""
    text = str(error)
    if NO_LIBRARY.search(text):
        return Unsupported(
            f"{name} cannot be checked with {sanitizer.name}, as the compiler has no library for it: "
            f"install {sanitizer.library} of the same version as g++"
        )
    missing = NO_FUNCTION.search(text)
    if missing:
        return Unsupported(
            f"{name} uses a part of OpenMP that sanitized programs lack ({missing[1]}): parallel, for, "
            "sections, single, critical, atomic, barrier, ordered, task and taskloop are there, with g++"
        )
    return error


def _case(
    op: CppOp, specs: Sequence[TensorSpec], inputs: Arrays, grads: Arrays | None
) -> bytes:
    """The tensors and arrays in the format that harness.cpp reads."""
    outputs = op.infer(*specs)
    header = struct.pack("=iii", len(specs), len(outputs), grads is not None)
    parts = [header]
    for tensor in (*specs, *outputs):
        rank = len(tensor.shape)
        number = TYPES[name_of(tensor.dtype)]
        layout = f"=ii{rank}I"
        parts.append(struct.pack(layout, number, rank, *tensor.shape))
        parts.append(struct.pack("=Q", _bytes(tensor)))
    for x in inputs:
        parts.append(np.ascontiguousarray(x).tobytes())
    for gradient, tensor in zip(grads or (), outputs, strict=grads is not None):
        parts.append(np.ascontiguousarray(gradient, tensor.dtype).tobytes())
    return b"".join(parts)


def _bytes(tensor: TensorSpec) -> int:
    size = int(np.prod(tensor.shape, dtype=int))
    return size * np.dtype(tensor.dtype).itemsize


@dataclass(frozen=True)
class _ProgramRun:
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
            text = (folder / "reply").read_text(encoding="utf-8", errors="replace")
        reply = text.splitlines()
        memory = ProgramMemory.of(self.op, reply)
        reported = findings(report, memory, calls=at_once)
        if not reported and "done" not in reply:
            raise self._failure(ending, reply, report)
        return reported

    def _ending(self, program: Path, folder: Path, at_once: int) -> str:
        """Run the program; returns how it ended, as the end of a sentence."""
        threads = str(THREADS // at_once)
        arguments = ["case", "reply", threads, str(CALLS), str(at_once)]
        launcher = [sys.executable, "-I", "-S", "-c", LAUNCH]
        with (folder / "stderr").open("wb") as stderr:
            process = subprocess.Popen(
                [*launcher, str(program), *arguments],
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
        for line in reply:
            if line.startswith("fault "):
                fault = line.removeprefix("fault ")
                return Deep500Error(f"{self.op.name}: {fault[:300]}")
        fatal = re.search(r"FATAL: \w+Sanitizer.*", report)
        if fatal:
            return Unsupported(
                f"the sanitizers do not work on this machine: {fatal[0][:200]}"
            )
        return Deep500Error(f"{self.op.name}, built with a sanitizer, {ending}")
