"""Facts of the software: compiler, kernel, Python, packages, BLAS, MPI."""

from __future__ import annotations

import ast
import gc
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from .files import Host, Unavailable

_BLAS_FILE = re.compile(
    r"/(lib\w*(?:openblas|mkl_|blis|atlas|blas|armpl)[^/\s]*\.so[^/\s]*)$", re.M
)
_OPENMP_FILE = re.compile(r"/(lib(?:gomp|iomp5|omp)\b[^/\s]*\.so[^/\s]*)$", re.M)


def variable(name: str) -> Callable[[Host], str]:
    """The probe of one environment variable; only variables named in the table are ever read."""
    return lambda host: os.environ.get(name, "not set")


def package(name: str) -> Callable[[Host], str]:
    """The probe of one installed package's version, read from its metadata: the package is not imported."""

    def version(host: Host) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    return version


def cpp_compiler(host: Host) -> str:
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        return host.command(*chosen, "--version").splitlines()[0]
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return host.command(name, "--version").splitlines()[0]
    raise Unavailable("none of g++, clang++, c++ is on PATH")


def python_build(name: str) -> Callable[[Host], str]:
    """The probe of one variable of Python's own build."""

    def value(host: Host) -> str:
        found = sysconfig.get_config_var(name)
        if found is None:
            raise Unavailable(f"this Python does not record {name}")
        return str(found)

    return value


def kernel(host: Host) -> str:
    return f"{platform.system()} {platform.release()}"


def kernel_build(host: Host) -> str:
    return platform.version()


def kernel_settings(host: Host) -> list[str]:
    """Boot parameters that matter to speed; the others may say what is nobody's business."""
    matters = re.compile(
        r"(isolcpus|nohz|nohz_full|rcu_nocbs|irqaffinity|mitigations|spectre\w*|nosmt|intel_pstate|amd_pstate|"
        r"idle|intel_idle\.max_cstate|processor\.max_cstate|cpuidle\.off|transparent_hugepage|hugepages\w*|"
        r"clocksource|tsc|preempt)(=|$)"
    )
    return [word for word in host.line("/proc/cmdline").split() if matters.match(word)]


def distribution(host: Host) -> str:
    for line in host.text("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    raise Unavailable("/etc/os-release: no line PRETTY_NAME")


def libc(host: Host) -> str:
    found = os.confstr("CS_GNU_LIBC_VERSION")
    if not found:
        raise Unavailable("this C library does not tell its version")
    return found


def aslr(host: Host) -> str:
    levels = {0: "off", 1: "without heap", 2: "full"}
    found = host.number("/proc/sys/kernel/randomize_va_space")
    return levels.get(found, f"level {found}")


def python_version(host: Host) -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def python_compiler(host: Host) -> str:
    return platform.python_compiler()


def python_flags(host: Host) -> list[str]:
    flags = sys.flags
    return [
        f"debug={flags.debug}", f"optimize={flags.optimize}", f"dev_mode={int(flags.dev_mode)}",
        f"hash_randomization={flags.hash_randomization}",
    ]  # fmt: skip


def garbage_collection(host: Host) -> str:
    return f"on, thresholds {gc.get_threshold()}" if gc.isenabled() else "off"


def numpy_blas(host: Host) -> str:
    """What numpy says it was built with, read from the text of its __config__.py (never executed)."""
    spec = importlib.util.find_spec("numpy")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("numpy is not installed")
    path = Path(spec.submodule_search_locations[0]) / "__config__.py"
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise Unavailable(
            f"numpy/__config__.py cannot be read: {type(error).__name__}"
        ) from None
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Dict)
            and (blas := _entries(node).get("blas"))
            and isinstance(blas, ast.Dict)
        ):
            entries = _entries(blas).items()
            told = {
                key: value.value
                for key, value in entries
                if isinstance(value, ast.Constant)
            }
            parts = (
                told.get(key) for key in ("name", "version", "openblas configuration")
            )
            return ", ".join(str(part) for part in parts if part)
    raise Unavailable("numpy/__config__.py names no BLAS")


def _entries(node: ast.Dict) -> dict[object, ast.expr]:
    pairs = zip(node.keys, node.values, strict=True)
    return {key.value: value for key, value in pairs if isinstance(key, ast.Constant)}


def blas_loaded(host: Host) -> list[str]:
    return _loaded(host, _BLAS_FILE, "no BLAS library is loaded in this process yet")


def openmp_loaded(host: Host) -> list[str]:
    return _loaded(
        host, _OPENMP_FILE, "no OpenMP library is loaded in this process yet"
    )


def _loaded(host: Host, names: re.Pattern[str], none: str) -> list[str]:
    found = sorted(set(names.findall(host.text("/proc/self/maps"))))
    if not found:
        raise Unavailable(none)
    return found


def mpi(host: Host) -> str:
    """The launcher on PATH and its version; a Python with its own MPI has the launcher beside it."""
    launcher = shutil.which("mpiexec") or shutil.which(
        "mpiexec", path=os.path.dirname(sys.executable)
    )
    if launcher is None:
        return "no mpiexec found"
    lines = [
        " ".join(line.split())
        for line in host.command(launcher, "--version").splitlines()
    ]
    return ", ".join(line.rstrip(":") for line in lines[:2])
