"""Tells how much of a file is in the page cache of the operating system, and evicts it from there."""

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from ...errors import Unsupported

# the share of pages up to which a file counts as read from the disk
MOST_RESIDENT = 0.1


def evict(paths: Iterable[str | Path], maps: Iterable[mmap.mmap] = ()) -> None:
    """Write unsaved changes of these files to the disk, and ask the system to drop their pages.

    `maps` are memory maps of them in this process: a page stays as long as a map uses it. Raises `Unsupported` if the
    system cannot do that.
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
    """The share of these files' pages that are in the page cache, by mincore; None if the system does not tell."""
    resident = total = 0
    for path in paths:
        counts = _pages(path)
        if counts is None:
            return None
        resident_pages, pages = counts
        resident += resident_pages
        total += pages
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
        access = mmap.PROT_READ | mmap.PROT_WRITE
        with mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, access) as memory_map:
            start = ctypes.c_char.from_buffer(memory_map)
            address = ctypes.c_void_p(ctypes.addressof(start))
            failed = mincore(address, ctypes.c_size_t(size), flags)
            del start  # or the map cannot be closed
    if failed:
        return None
    resident = sum(flag & 1 for flag in flags)
    return resident, count


class EvictsBeforeCalls:
    """Called before and after every timed call; it evicts the files before the call, which is not timed."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.maps: list[mmap.mmap] = []
        self.before = True

    def __call__(self) -> None:
        if self.before:
            evict(self.paths, self.maps)
        self.before = not self.before


evict_before_calls = EvictsBeforeCalls()
