"""Runs nvcc for operators in .cu files, with the same cache as the C++ compiler's."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ..errors import Deep500Error, Unsupported
from .building import INCLUDE, cached, version_of

SUFFIX = ".cu"
ARCHITECTURES = "CUDAARCHS"  # CMake reads the same variable
USUAL = "80;90"
HOST_FLAGS = "-fPIC,-fvisibility=hidden,-fno-gnu-unique,-fopenmp,-march=native,-w"


def build_cuda(name: str, text: str, folder: Path, flags: Sequence[str] = ()) -> Path:
    """The shared library of a CUDA source for the architectures in $CUDAARCHS, by default 80 and 90.

    It holds machine code for each, and code for the last that drivers translate for later ones. Raises `Unsupported`
    if there is no nvcc.
    """
    compiler = _nvcc()
    command = [compiler, "-x", "cu", "-", "-O3", "-shared", "-cudart", "shared"]
    command += ["-w", f"-I{INCLUDE}", "-Xcompiler", HOST_FLAGS]
    # a framework that is loaded has a runtime already, which then is this one
    for library_folder in _library_folders(compiler):
        command += ["-Xlinker", f"-rpath={library_folder}"]
    command += [*_architecture_flags(), *flags]
    return cached(name, command, version_of((compiler,)), text, folder)


def _nvcc() -> str:
    home = os.environ.get("CUDA_HOME", "")
    nvcc = shutil.which("nvcc", path=f"{home}/bin") if home else shutil.which("nvcc")
    if nvcc is None:
        place = f"in CUDA_HOME={home}" if home else "on the PATH"
        raise Unsupported(
            f"operators in CUDA need a compiler, and there is no nvcc {place}: install the CUDA toolkit, or set "
            "CUDA_HOME to its folder"
        )
    return nvcc


@cache
def _library_folders(nvcc: str) -> list[Path]:
    """The folders of the toolkit's libraries; nvcc may be a script, and tells by itself where its toolkit is."""
    command = [nvcc, "-dryrun", "-E", "-x", "cu", os.devnull]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    top = re.search(r"^#\$ TOP=(.+)$", done.stderr, re.MULTILINE)
    if top is None:
        return []
    folders = [Path(top[1].strip()).resolve() / name for name in ("lib64", "lib")]
    return [folder for folder in folders if folder.is_dir()]


def _architecture_flags() -> list[str]:
    """The numbers of $CUDAARCHS as nvcc takes them."""
    text = os.environ.get(ARCHITECTURES) or USUAL
    numbers = text.split(";")
    for number in numbers:
        if not re.fullmatch(r"\d{2,3}[af]?", number):
            raise Deep500Error(
                f"{ARCHITECTURES} is {text!r}: give the numbers of architectures, as in {USUAL!r}"
            )
    flags = []
    for number in numbers:
        flags += ["-gencode", f"arch=compute_{number},code=sm_{number}"]
    last = numbers[-1]
    return [*flags, "-gencode", f"arch=compute_{last},code=compute_{last}"]
