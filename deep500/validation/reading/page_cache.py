"""Whether files lie in the page cache of the operating system, and how to get them out of it."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from ...errors import Unsupported

MOST_RESIDENT = 0.1  # of the pages of a file that counts as read from the disk


def evict(paths: Iterable[str | Path], maps: Iterable[mmap.mmap] = ()) -> None:
    """Ask the system to drop the pages of these files, after what is not on the disk yet has been written.

    `maps` are memory maps of them in this process: a page stays as long as a map uses it.
    """
    if not hasattr(os, "posix_fadvise"):
        raise Unsupported(
            "this system has no posix_fadvise, which empties the page cache"
        )
    for memory_map in maps:
        memory_map.madvise(mmap.MADV_DONTNEED)
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def resident_share(paths: Iterable[str | Path]) -> float | None:
    """The share of these files' pages that are in the page cache, by mincore; None where it cannot be told."""
    resident = total = 0
    for path in paths:
        counts = _pages(path)
        if counts is None:
            return None
        resident += counts[0]
        total += counts[1]
    return resident / total if total else None


def _pages(path: str | Path) -> tuple[int, int] | None:
    """How many pages of a file are in memory, and how many there are."""
    mincore = getattr(ctypes.CDLL(None), "mincore", None)
    if mincore is None:
        return None
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return 0, 0
        count = -(-size // mmap.PAGESIZE)
        flags = (ctypes.c_ubyte * count)()
        with mmap.mmap(
            file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE
        ) as m:
            start = ctypes.c_char.from_buffer(m)
            failed = mincore(
                ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(size), flags
            )
            del start  # or the map cannot be closed
    if failed:
        return None
    return sum(flag & 1 for flag in flags), count


class EvictsBeforeCalls:
    """Is called before and after every timed call, and evicts the files before it: outside of the time of the call."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.maps: list[mmap.mmap] = []
        self.before = True

    def __call__(self) -> None:
        if self.before:
            evict(self.paths, self.maps)
        self.before = not self.before


evict_before_calls = EvictsBeforeCalls()
