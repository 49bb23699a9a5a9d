"""Builds the fake CUDA runtime, and runs processes of this folder on it."""

import ctypes
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_suffix(".c")
VERSIONS = "libcudart.so.{0} {{ global: *; }};"
NVCC = shutil.which("nvcc")


def build(folder: Path, version: int) -> Path:
    """The library with the version of symbols that programs of this nvcc ask for."""
    library = folder / f"libcudart.so.{version}"
    script = folder / "versions.map"
    script.write_text(VERSIONS.format(version))
    command = ["gcc", "-w", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
    command += [f"-Wl,-soname,{library.name}", f"-Wl,--version-script={script}"]
    subprocess.run(command, check=True, timeout=60)
    return library


def nvcc_version() -> int:
    """The major version of nvcc."""
    assert NVCC is not None
    done = subprocess.run([NVCC, "--version"], capture_output=True, text=True)
    return int(done.stdout.partition("release ")[2].partition(".")[0])


def environment(library: Path) -> dict[str, str]:
    """The environment in which programs find the fake in the place of CUDA's own."""
    return os.environ | {
        "LD_PRELOAD": str(library),
        "LD_LIBRARY_PATH": str(library.parent),
    }


class Journal:
    """What the fake of this process has written down since it was last asked."""

    def __init__(self) -> None:
        self.fake = ctypes.CDLL(None)
        self.fake.fake_journal.restype = ctypes.c_char_p

    def lines(self) -> list[str]:
        lines = self.fake.fake_journal().decode().splitlines()
        self.fake.fake_clear()
        return lines

    def of(self, call: Callable[..., Any], *values: Any) -> list[str]:
        """What one call asks for."""
        self.lines()
        call(*values)
        return self.lines()


def launch(kernel: str, elements: int, stream: int, addresses: list[int]) -> str:
    """The line of a launch that covers so many elements."""
    grid = -(-elements // 256)
    words = " ".join(hex(address) for address in addresses)
    return f"launch {kernel} grid={grid} block=256 stream={hex(stream)} {words}"


FATBIN = struct.pack("<I", 0xBA55ED50)
PTX, MACHINE_CODE = 1, 2


def device_code(library: Path) -> set[tuple[int, int]]:
    """The code for devices in a library: its kind and its architecture."""
    content = library.read_bytes()
    found = set()
    start = content.find(FATBIN)
    while start >= 0:
        header, size = struct.unpack_from("<HQ", content, start + 6)
        place = start + header
        while place < start + header + size:
            kind, _, entry_header, entry_size = struct.unpack_from(
                "<HHIQ", content, place
            )
            (architecture,) = struct.unpack_from("<I", content, place + 28)
            found.add((kind, architecture))
            place += entry_header + entry_size
        start = content.find(FATBIN, start + 1)
    return found
