"""Write a bundle: nothing is synced while blocks are added, everything is before the manifest appears."""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from ..errors import Deep500Error
from .containers import (
    FILE_LIMIT,
    TOTAL_LIMIT,
    ascii_line,
    show,
)
from .encoding import (
    CHAIN,
    FORMAT,
    MANIFEST,
    NAME,
    PARSE_LIMIT,
    ZERO,
    Documents,
    Tally,
    canonical,
    check_name,
    link,
    sha256,
    temporary,
)
from .reading import Bundle, read


class Writer:
    """An open bundle, made by `create` or `resume`."""

    def __init__(
        self, folder: Path, kind: str, created: str, documents: dict[str, str]
    ) -> None:
        self.folder = folder
        self.kind = kind
        self.created = created
        self.documents = documents  # given at creation: name -> sha256
        self.head = ZERO
        self.blocks = 0
        self._size = 0
        self._tally = Tally()
        self._fd = -1
        self._made: list[
            Path
        ] = []  # what discard() takes away, in the order it was made

    def append(self, block: dict[str, object]) -> None:
        """Add one block by one write(), not synced; after an error the bundle is as it was before."""
        self._append(block)
        self.blocks += 1

    def _append(self, block: dict[str, object]) -> None:
        self._check_open()
        head, line = link(self.head, block)
        if len(line) > PARSE_LIMIT:
            raise Deep500Error(
                f"{self.folder / CHAIN}: a line of {len(line)} bytes is more than it may hold"
            )
        if too_much := self._tally.add(line):
            raise Deep500Error(f"{self.folder} is full: {too_much}")
        try:
            written = os.write(self._fd, line)
            if written < len(line):
                raise OSError(
                    f"only {written} of {len(line)} bytes could be written, the disk may be full"
                )
        except OSError as error:
            with suppress(
                OSError
            ):  # a torn line that stays is cut by resume(), tolerated by read()
                os.ftruncate(self._fd, self._size)
            raise Deep500Error(
                f"{self.folder / CHAIN} cannot be written: {ascii_line(error)}"
            ) from None
        self.head, self._size = head, self._size + len(line)

    def finish(
        self, documents: Documents, files: dict[str, bytes] | None = None
    ) -> str:
        """Add the last documents and files, then the manifest, and close; returns the manifest's hash."""
        self._check_open()
        new = _encoded(documents, self.documents) | _checked(files or {})
        if sum(map(len, new.values())) + self._size > TOTAL_LIMIT:
            raise Deep500Error(
                f"{self.folder} cannot be finished: a bundle holds {TOTAL_LIMIT} bytes"
            )
        with _one_line(f"{self.folder} cannot be finished"):
            manifest = self._manifest(
                {name: sha256(data) for name, data in new.items()}
            )
            digest = sha256(canonical(manifest))
            self._commit(new | {MANIFEST: canonical(manifest | {"hash": digest})})
        self.close()
        self._made.clear()
        return digest

    def _manifest(self, new: dict[str, str]) -> dict[str, object]:
        os.fsync(self._fd)
        with open(self.folder / CHAIN, "rb") as file:
            chain = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "format": FORMAT,
            "kind": self.kind,
            "created": self.created,
            "finished": _now(),
            "files": self.documents | new | {CHAIN: chain},
            "head": self.head,
            "blocks": self.blocks,
        }

    def _commit(self, new: dict[str, bytes]) -> None:
        """All is on disk under temporary names before the first gets its own; the manifest gets it last."""
        try:
            for name, data in new.items():
                self._write(temporary(name), data)
            _sync(self.folder)
        except OSError:
            for name in new:
                (self.folder / temporary(name)).unlink(missing_ok=True)
            raise
        for name in new:
            os.replace(self.folder / temporary(name), self.folder / name)
        _sync(self.folder)

    def close(self) -> None:
        """Leave what is there: a clean unfinished bundle, if `finish` was not called."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def discard(self) -> None:
        """Close, and remove what `create` made (nothing, when the bundle was resumed or is finished)."""
        self.close()
        for path in reversed(self._made):
            if path.is_dir():
                with suppress(OSError):  # somebody else put something there: it stays
                    path.rmdir()
            else:
                path.unlink(missing_ok=True)

    def _check_open(self) -> None:
        if self._fd < 0:
            raise Deep500Error(f"{self.folder} is closed: nothing can be added to it")

    def _make_folder(self) -> None:
        for path in reversed(
            [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        ):
            path.mkdir(exist_ok=True)
            self._made.append(path)
        if any(self.folder.iterdir()):
            raise Deep500Error(f"{self.folder} is not empty: choose another folder")

    def _write(self, name: str, data: bytes) -> None:
        fd = os.open(
            self.folder / name,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW,
            0o666,
        )
        self._made.append(self.folder / name)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)

    def _open_chain(self, flags: int) -> None:
        flags |= os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        self._fd = os.open(self.folder / CHAIN, flags, 0o666)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Deep500Error(
                f"{self.folder} is being written by another process"
            ) from None
        except OSError:
            pass  # some cluster file systems know no locks: nobody can be warned there


def create(
    folder: str | os.PathLike[str], documents: Documents, kind: str = "bench"
) -> Writer:
    """Start a bundle in a new or empty folder: its documents and the header that binds them, or nothing."""
    encoded = _encoded(documents, {})
    if not NAME.fullmatch(kind):
        raise Deep500Error(
            f"{show(kind)} cannot be the kind of a bundle: letters, digits and ._- only"
        )
    hashes = {name: sha256(data) for name, data in encoded.items()}
    writer = Writer(Path(folder).absolute(), kind, _now(), hashes)
    try:
        with _one_line(f"{folder} cannot be written"):
            writer._make_folder()
            writer._open_chain(os.O_CREAT | os.O_EXCL)  # locked from the first file on
            writer._made.append(writer.folder / CHAIN)
            for name, data in encoded.items():
                writer._write(name, data)
            writer._append(
                {
                    "format": FORMAT,
                    "kind": kind,
                    "created": writer.created,
                    "documents": hashes,
                }
            )
            os.fsync(writer._fd)
    except BaseException:
        writer.discard()
        raise
    return writer


def begun(folder: str | os.PathLike[str], documents: Iterable[str]) -> bool:
    """Whether a folder holds a bundle; what a killed `create` of these documents left there is removed."""
    writer = Writer(Path(folder).absolute(), "", "", {})
    chain = writer.folder / CHAIN
    if not chain.is_file():
        return False
    try:
        with _one_line(f"{folder} cannot be resumed"):
            writer._open_chain(0)
            with open(chain, "rb") as file:
                if file.readline(PARSE_LIMIT).endswith(b"\n"):
                    return True
            for name in (*documents, CHAIN):
                (writer.folder / name).unlink(missing_ok=True)
    finally:
        writer.close()
    return False


def resume(folder: str | os.PathLike[str]) -> Writer:
    """Reopen an unfinished bundle behind its last whole line; a finished or a broken one is refused."""
    return reopen(folder)[0]


def reopen(folder: str | os.PathLike[str]) -> tuple[Writer, Bundle]:
    """As `resume`, with what the bundle holds so far; it is read once, while nobody else can write to it."""
    writer = Writer(Path(folder).absolute(), "", "", {})
    try:
        with _one_line(f"{folder} cannot be resumed"):
            writer._open_chain(0)
            found = read(writer.folder)
            if found.finished:
                raise Deep500Error(
                    f"{folder} is finished: a finished bundle is never changed"
                )
            if found.problems:
                raise Deep500Error(f"{folder} cannot be resumed: {found.problems[0]}")
            for name in found.leftovers:
                (writer.folder / name).unlink(missing_ok=True)
            writer._tally = found.tally
            writer._size = os.fstat(writer._fd).st_size - found.lost_bytes
            os.ftruncate(writer._fd, writer._size)
    except BaseException:
        writer.close()
        raise
    writer.kind, writer.created, writer.documents = (
        found.kind,
        found.created,
        found.hashes,
    )
    writer.head, writer.blocks = found.head, len(found.blocks)
    return writer, found


def _encoded(documents: Documents, taken: dict[str, str]) -> dict[str, bytes]:
    """All documents as bytes, before any is written."""
    result = {}
    for name, document in documents.items():
        check_name(name, document=True)
        try:
            result[name] = canonical(document)
        except Deep500Error as error:
            raise Deep500Error(f"{name}: {error}") from None
        if name in taken or len(result[name]) > PARSE_LIMIT:
            raise Deep500Error(
                f"{name} was given at creation already, or has more than {PARSE_LIMIT} bytes"
            )
    return result


def _checked(files: dict[str, bytes]) -> dict[str, bytes]:
    for name, data in files.items():
        check_name(name, document=False)
        if len(data) > FILE_LIMIT:
            raise Deep500Error(
                f"{name} has {len(data)} bytes, and a file of a bundle at most {FILE_LIMIT}"
            )
    return files


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _one_line(what: str) -> Iterator[None]:
    try:
        yield
    except (
        OSError,
        ValueError,
    ) as error:  # ValueError: a path that the system cannot spell
        raise Deep500Error(f"{what}: {ascii_line(error)}") from None
