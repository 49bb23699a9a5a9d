"""An append-only log of dataclasses in a file: its lines form a hash chain, as the samples of a bundle do."""

import fcntl
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..errors import Deep500Error, Wrong
from ..schema import decoded, encoded
from .encoding import PARSE_LIMIT, ZERO, link, unlink

LONGEST_LOG = 1 << 28  # bytes
T = TypeVar("T")


@dataclass(frozen=True)
class ChainedLog(Generic[T]):
    """The log at this path, with lines of that dataclass."""

    path: Path
    kind: type[T]

    def read(self) -> tuple[list[T], str]:
        """All entries, and the hash of the last line; raises Wrong if a line was changed, removed or put in."""
        try:
            if self.path.stat().st_size > LONGEST_LOG:
                raise Deep500Error(f"{self.path} has more than {LONGEST_LOG} bytes")
            lines = self.path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return [], ZERO
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be read: {error.strerror}"
            ) from None
        entries = []
        head = ZERO
        for number, line in enumerate(lines, 1):
            where = f"{self.path}: line {number}"
            head, block = _unlinked(head, line, where)
            entries.append(decoded(self.kind, block, where))
        return entries, head

    def append(self, entries: Iterable[T]) -> None:
        """Add entries after the last line, by one write that is on disk when this returns."""
        documents = [encoded(entry) for entry in entries]
        if not documents:
            return
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            descriptor = os.open(self.path, flags, 0o666)
            with os.fdopen(descriptor, "wb") as file:
                # another process reads the head after our line, or writes its line before we read it
                fcntl.flock(file, fcntl.LOCK_EX)
                _, head = self.read()
                data = b""
                for document in documents:
                    head, line = link(head, document)
                    data += line
                file.write(data)
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            raise Deep500Error(
                f"{self.path} cannot be written: {error.strerror}"
            ) from None


def _unlinked(head: str, line: bytes, where: str) -> tuple[str, dict[str, object]]:
    try:
        if len(line) > PARSE_LIMIT:
            raise Deep500Error("too long")
        return unlink(head, line)
    except Deep500Error as error:
        raise Wrong(
            f"{where}: {error}: the log was changed after it was written, and is not used"
        ) from None
