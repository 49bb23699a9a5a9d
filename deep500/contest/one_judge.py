"""One judge at a time in a contest: two would draw seeds for the same submission, and write the same result."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Deep500Error
from .definition import CONTEST, ContestFolder


@contextmanager
def one_judge(folder: ContestFolder) -> Iterator[None]:
    """Be the only judge of this contest; the kernel frees it when this process ends, however it ends."""
    with open(folder.path / CONTEST, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Deep500Error(
                f"another judge is at work in {folder.path}: wait until it has ended"
            ) from None
        yield
