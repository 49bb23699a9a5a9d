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

from .files import HostFiles, Unavailable

_BLAS_FILE = re.compile(
    r"/(lib\w*(?:openblas|mkl_|blis|atlas|blas|armpl)[^/\s]*\.so[^/\s]*)$", re.M
)
_OPENMP_FILE = re.compile(r"/(lib(?:gomp|iomp5|omp)\b[^/\s]*\.so[^/\s]*)$", re.M)


def variable(name: str) -> Callable[[HostFiles], str]:
    """The probe of one environment variable; only variables named in the table are ever read."""
    return lambda host: os.environ.get(name, "not set")


def package(name: str) -> Callable[[HostFiles], str]:
    """The probe of one installed package's version, read from its metadata: the package is not imported."""

    def version(host: HostFiles) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "not installed"

    return version


def cpp_compiler(host: HostFiles) -> str:
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        return host.command(*chosen, "--version").splitlines()[0]
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return host.command(name, "--version").splitlines()[0]
    raise Unavailable("none of g++, clang++, c++ is on PATH")


def python_build(name: str) -> Callable[[HostFiles], str]:
    """The probe of one variable of Python's own build."""

    def value(host: HostFiles) -> str:
        setting = sysconfig.get_config_var(name)
        if setting is None:
            raise Unavailable(f"this Python does not record {name}")
        return str(setting)

    return value


def kernel(host: HostFiles) -> str:
    return f"{platform.system()} {platform.release()}"


def kernel_build(host: HostFiles) -> str:
    return platform.version()


def kernel_settings(host: HostFiles) -> list[str]:
    """The boot parameters that affect speed; the others are not recorded, as they may be private."""
    matters = re.compile(
        r"(isolcpus|nohz|nohz_full|rcu_nocbs|irqaffinity|mitigations|spectre\w*|nosmt|intel_pstate|amd_pstate|"
        r"idle|intel_idle\.max_cstate|processor\.max_cstate|cpuidle\.off|transparent_hugepage|hugepages\w*|"
        r"clocksource|tsc|preempt)(=|$)"
    )
    parameters = host.line("/proc/cmdline").split()
    return [parameter for parameter in parameters if matters.match(parameter)]


def distribution(host: HostFiles) -> str:
    for line in host.text("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    raise Unavailable("/etc/os-release: no line PRETTY_NAME")


def libc(host: HostFiles) -> str:
    version = os.confstr("CS_GNU_LIBC_VERSION")
    if not version:
        raise Unavailable("this C library does not tell its version")
    return version


def aslr(host: HostFiles) -> str:
    level = host.number("/proc/sys/kernel/randomize_va_space")
    names = {0: "off", 1: "without heap", 2: "full"}
    return names.get(level, f"level {level}")


def python_version(host: HostFiles) -> str:
    return f"{platform.python_implementation()} {platform.python_version()}"


def python_compiler(host: HostFiles) -> str:
    return platform.python_compiler()


def python_flags(host: HostFiles) -> list[str]:
    flags = sys.flags
    return [
        f"debug={flags.debug}",
        f"optimize={flags.optimize}",
        f"dev_mode={int(flags.dev_mode)}",
        f"hash_randomization={flags.hash_randomization}",
    ]


def garbage_collection(host: HostFiles) -> str:
    if not gc.isenabled():
        return "off"
    return f"on, thresholds {gc.get_threshold()}"


def numpy_blas(host: HostFiles) -> str:
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
        if not isinstance(node, ast.Dict):
            continue
        blas = _entries(node).get("blas")
        if isinstance(blas, ast.Dict):
            return _blas_text(blas)
    raise Unavailable("numpy/__config__.py names no BLAS")


def _blas_text(blas: ast.Dict) -> str:
    entries = _entries(blas)
    parts = []
    for key in ("name", "version", "openblas configuration"):
        value = entries.get(key)
        if isinstance(value, ast.Constant) and value.value:
            parts.append(str(value.value))
    return ", ".join(parts)


def _entries(node: ast.Dict) -> dict[object, ast.expr]:
    pairs = zip(node.keys, node.values, strict=True)
    entries: dict[object, ast.expr] = {}
    for key, value in pairs:
        if isinstance(key, ast.Constant):
            entries[key.value] = value
    return entries


def blas_loaded(host: HostFiles) -> list[str]:
    return _loaded(host, _BLAS_FILE, "no BLAS library is loaded in this process yet")


def openmp_loaded(host: HostFiles) -> list[str]:
    return _loaded(
        host, _OPENMP_FILE, "no OpenMP library is loaded in this process yet"
    )


def _loaded(host: HostFiles, file_name: re.Pattern[str], reason: str) -> list[str]:
    """The libraries in this process whose file name matches; without any, Unavailable with that reason."""
    libraries = set(file_name.findall(host.text("/proc/self/maps")))
    if not libraries:
        raise Unavailable(reason)
    return sorted(libraries)


def mpi(host: HostFiles) -> str:
    """The launcher on PATH and its version; a Python with its own MPI has the launcher beside it."""
    beside_python = os.path.dirname(sys.executable)
    launcher = shutil.which("mpiexec")
    if not launcher:
        launcher = shutil.which("mpiexec", path=beside_python)
    if launcher is None:
        return "no mpiexec found"
    lines = host.command(launcher, "--version").splitlines()
    parts = []
    for line in lines[:2]:
        words = " ".join(line.split())
        parts.append(words.rstrip(":"))
    return ", ".join(parts)
