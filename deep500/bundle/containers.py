"""Open a flat folder, or a zip of one, that a stranger may have made.

Only regular files are opened, never through a link or outside the folder; sizes are checked before reading.
"""

import hashlib
import os
import re
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import Deep500Error, one_line

FILE_LIMIT = 2**30  # bytes
TOTAL_LIMIT = 2**32
_COUNT_LIMIT = 10_000
_RATIO_LIMIT = 200  # unpacked to packed; text packs 5 to 50 times
_RATIO_FREE = 2**20  # below this size nobody asks for the ratio

_NAME = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9._-]*")
_ENTRY = re.compile(rf"({_NAME.pattern}/)?{_NAME.pattern}")
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
}

# RuntimeError: encrypted, unknown compression; struct.error, ValueError, OverflowError: nonsense in a zip.
_NONSENSE = (
    RuntimeError,
    ValueError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
)


class Damage(Deep500Error):
    """One file of a container does not hold what it should."""


def show(name: str) -> str:
    """A file name that is safe to print on one line."""
    if _NAME.fullmatch(name) and len(name) < 100:
        return name
    return ascii(name)[:100]


def ascii_line(error: BaseException) -> str:
    """The message of an exception on one short ASCII line, without control characters."""
    text = None
    if isinstance(error, OSError):
        text = error.strerror
    quoted = ascii(text or one_line(error))
    return quoted[1:-1][:200]


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, zlib.error, *_NONSENSE) as error:
        raise Damage(f"cannot be read ({ascii_line(error)})") from None


class Container(ABC):
    """The sizes of the regular files in a folder or zip, and the kinds of everything else in it."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.strange: dict[str, str] = {}
        self._total = 0

    @abstractmethod
    def _open(self, name: str) -> BinaryIO: ...

    @abstractmethod
    def close(self) -> None: ...

    def _admit(self, name: str, size: int) -> None:
        if size > FILE_LIMIT:
            raise Deep500Error(
                f"refused: {show(name)} has {size} bytes, more than {FILE_LIMIT}"
            )
        self.sizes[name] = size
        self._total += size
        if self._total > TOTAL_LIMIT:
            raise Deep500Error(f"refused: more than {TOTAL_LIMIT} bytes in all")
        if len(self.sizes) > _COUNT_LIMIT:
            raise Deep500Error(f"refused: more than {_COUNT_LIMIT} files")

    def read(self, name: str, limit: int = FILE_LIMIT) -> bytes:
        """The whole file, or Damage when it is longer than `limit`."""
        with _reading(), self._open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Damage(f"longer than the {limit} bytes that are read")
        return data

    def digest(self, name: str) -> str:
        """The SHA-256 of a file, read in chunks."""
        total = hashlib.sha256()
        with _reading(), self._open(name) as file:
            while chunk := file.read(2**20):
                total.update(chunk)
        return total.hexdigest()

    def lines(self, name: str, limit: int) -> Iterator[bytes]:
        """The lines with their ends (a torn last line has none)."""
        with _reading():
            file = self._open(name)
        with file:
            while True:
                with _reading():
                    line = file.readline(limit)
                if not line:
                    return
                if len(line) == limit and not line.endswith(b"\n"):
                    raise Damage(f"a line longer than the {limit} bytes that are read")
                yield line


class Folder(Container):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(self._fd) as entries:
                for entry in entries:
                    # its writer has just renamed it
                    with suppress(FileNotFoundError):
                        self._note(entry.name, entry.stat(follow_symlinks=False))
        except BaseException:
            os.close(self._fd)
            raise

    def _note(self, name: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode):
            self._admit(name, status.st_size)
        else:
            kind = stat.S_IFMT(status.st_mode)
            self.strange[name] = _KINDS.get(kind, "no regular file")

    def _open(self, name: str) -> BinaryIO:
        return open_regular(name, self._fd)

    def close(self) -> None:
        os.close(self._fd)


class Zip(Container):
    """Entries lie at the top, or all in one folder there (as `zip -r` does); nothing is unpacked to disk."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self._file = open_regular(str(path))
        try:
            self._zip = zipfile.ZipFile(self._file)
            prefix = _common_folder(self._zip.namelist())
            for info in self._zip.infolist():
                name = info.filename.removeprefix(prefix)
                if name:  # else it is the folder itself
                    _check_entry(name, info, self._entries)
                    self._entries[name] = info
                    self._admit(name, info.file_size)
        except BaseException:
            self._file.close()
            raise

    def _open(self, name: str) -> BinaryIO:
        return self._zip.open(self._entries[name])  # type: ignore[return-value]  # IO[bytes] has all that is used

    def close(self) -> None:
        self._zip.close()
        self._file.close()


def _common_folder(names: list[str]) -> str:
    """The folder that all entries lie in, with a slash; empty if there is none."""
    tops = {name.partition("/")[0] for name in names}
    if len(tops) == 1:
        return f"{tops.pop()}/"
    return ""


def _check_entry(
    name: str, info: zipfile.ZipInfo, entries: dict[str, zipfile.ZipInfo]
) -> None:
    """Raise a Deep500Error for an entry that no bundle has, or that is among the entries already."""
    mode = info.external_attr >> 16
    stored_name = info.orig_filename
    has_plain_name = _NAME.fullmatch(name) and _ENTRY.fullmatch(stored_name)
    is_deflated = info.compress_type in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    )
    is_encrypted = info.flag_bits & 1
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        reason = "is not a regular file"
    elif not has_plain_name:
        reason = "has a name that leads elsewhere"
    elif name in entries:
        reason = "is there twice"
    elif not is_deflated or is_encrypted:
        reason = "is encrypted, or packed by other means than deflate"
    elif info.file_size > max(_RATIO_FREE, _RATIO_LIMIT * info.compress_size):
        reason = f"unpacks to more than {_RATIO_LIMIT} times its size"
    else:
        return
    raise Deep500Error(f"refused: zip entry {show(info.filename)} {reason}")


def open_regular(name: str, folder: int | None = None) -> BinaryIO:
    """Open for reading without following a link inside `folder`, and without waiting for a pipe."""
    flags = os.O_RDONLY | os.O_NONBLOCK
    if folder is not None:
        flags |= os.O_NOFOLLOW
    fd = os.open(name, flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(f"{show(name)} is not a regular file")
    return os.fdopen(fd, "rb")


def open_container(path: Path) -> Container:
    """The folder or zip at `path`; a Deep500Error when it is neither, or hostile."""
    try:
        if path.is_dir():
            return Folder(path)
        return Zip(path)
    except Deep500Error as error:
        raise Deep500Error(f"{path}: {error}") from None
    except FileNotFoundError:
        raise Deep500Error(f"{path}: no such bundle") from None
    except OSError as error:
        raise Deep500Error(f"{path}: cannot be read ({ascii_line(error)})") from None
    except _NONSENSE as error:
        reason = ascii_line(error)
        raise Deep500Error(
            f"{path} is no bundle, neither folder nor zip ({reason})"
        ) from None
