"""Calls to Linux about the end of a parent process and about freed memory; on other systems they do nothing.

Standard library only.
"""

import ctypes
import signal
import sys

SET_PARENT_DEATH_SIGNAL = 1  # of <linux/prctl.h>
SET_CHILD_SUBREAPER = 36
TRIM_THRESHOLD = -1  # of <malloc.h>
MMAP_THRESHOLD = -3
KEPT_BYTES = 1 << 30


def end_with_parent(number: signal.Signals) -> None:
    """Have this signal sent to us when the thread that started us ends, however it ends.

    A parent that has ended already sends none: compare `os.getppid()` afterwards.
    """
    _prctl(SET_PARENT_DEATH_SIGNAL, number)


def adopt_orphans() -> None:
    """Become the parent of every process below us whose own parent ends."""
    _prctl(SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def keep_memory() -> None:
    """Have the C library keep large blocks that are freed, for a process that needs as large ones over and over."""
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # of glibc
        mallopt(MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
