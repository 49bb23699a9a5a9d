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
        # what discard() takes away, in the order it was made
        self._created: list[Path] = []

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
        too_much = self._tally.add(line)
        if too_much:
            raise Deep500Error(f"{self.folder} is full: {too_much}")
        try:
            written = os.write(self._fd, line)
            if written < len(line):
                raise OSError(
                    f"only {written} of {len(line)} bytes could be written, the disk may be full"
                )
        except OSError as error:
            # a torn line that stays is cut by resume(), tolerated by read()
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            reason = ascii_line(error)
            raise Deep500Error(
                f"{self.folder / CHAIN} cannot be written: {reason}"
            ) from None
        self.head = head
        self._size += len(line)

    def finish(
        self,
        documents: Documents,
        files: dict[str, bytes] | None = None,
        finished: str | None = None,
    ) -> str:
        """Add the last documents and files, then the manifest, and close; returns the manifest's hash.

        A copy of an older bundle gives the date of its end.
        """
        self._check_open()
        contents = _encoded(documents, self.documents)
        contents |= _checked(files or {})
        size = sum(map(len, contents.values()))
        if size + self._size > TOTAL_LIMIT:
            raise Deep500Error(
                f"{self.folder} cannot be finished: a bundle holds {TOTAL_LIMIT} bytes"
            )
        with _one_line(f"{self.folder} cannot be finished"):
            hashes = {name: sha256(data) for name, data in contents.items()}
            manifest = self._manifest(hashes, finished or _now())
            digest = sha256(canonical(manifest))
            contents[MANIFEST] = canonical(manifest | {"hash": digest})
            self._commit(contents)
        self.close()
        self._created.clear()
        return digest

    def _manifest(self, hashes: dict[str, str], finished: str) -> dict[str, object]:
        os.fsync(self._fd)
        with open(self.folder / CHAIN, "rb") as file:
            chain = hashlib.file_digest(file, "sha256").hexdigest()
        return {
            "format": FORMAT,
            "kind": self.kind,
            "created": self.created,
            "finished": finished,
            "files": self.documents | hashes | {CHAIN: chain},
            "head": self.head,
            "blocks": self.blocks,
        }

    def _commit(self, contents: dict[str, bytes]) -> None:
        """All is on disk under temporary names before the first gets its own; the manifest gets it last."""
        try:
            for name, data in contents.items():
                self._write(temporary(name), data)
            _sync(self.folder)
        except OSError:
            for name in contents:
                (self.folder / temporary(name)).unlink(missing_ok=True)
            raise
        for name in contents:
            written = self.folder / temporary(name)
            os.replace(written, self.folder / name)
        _sync(self.folder)

    def close(self) -> None:
        """Leave what is there: a clean unfinished bundle, if `finish` was not called."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def discard(self) -> None:
        """Close, and remove what `create` made (nothing, when the bundle was resumed or is finished)."""
        self.close()
        for path in reversed(self._created):
            if path.is_dir():
                # somebody else put something there: it stays
                with suppress(OSError):
                    path.rmdir()
            else:
                path.unlink(missing_ok=True)

    def _check_open(self) -> None:
        if self._fd < 0:
            raise Deep500Error(f"{self.folder} is closed: nothing can be added to it")

    def _make_folder(self) -> None:
        folders = (self.folder, *self.folder.parents)
        missing = [path for path in folders if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            self._created.append(path)
        if any(self.folder.iterdir()):
            raise Deep500Error(f"{self.folder} is not empty: choose another folder")

    def _write(self, name: str, data: bytes) -> None:
        path = self.folder / name
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(path, flags, 0o666)
        self._created.append(path)
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
    folder: str | os.PathLike[str],
    documents: Documents,
    kind: str = "bench",
    created: str | None = None,
) -> Writer:
    """Start a bundle in a new or empty folder: its documents and the header that binds them, or nothing.

    A copy of an older bundle gives the date of its beginning.
    """
    encoded = _encoded(documents, {})
    if not NAME.fullmatch(kind):
        raise Deep500Error(
            f"{show(kind)} cannot be the kind of a bundle: letters, digits and ._- only"
        )
    hashes = {name: sha256(data) for name, data in encoded.items()}
    path = Path(folder).absolute()
    writer = Writer(path, kind, created or _now(), hashes)
    header = {
        "format": FORMAT,
        "kind": kind,
        "created": writer.created,
        "documents": hashes,
    }
    try:
        with _one_line(f"{folder} cannot be written"):
            writer._make_folder()
            # locked from the first file on
            writer._open_chain(os.O_CREAT | os.O_EXCL)
            writer._created.append(writer.folder / CHAIN)
            for name, data in encoded.items():
                writer._write(name, data)
            writer._append(header)
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
            bundle = read(writer.folder)
            if bundle.finished:
                raise Deep500Error(
                    f"{folder} is finished: a finished bundle is never changed"
                )
            if bundle.problems:
                problem = bundle.problems[0]
                raise Deep500Error(f"{folder} cannot be resumed: {problem}")
            for name in bundle.leftovers:
                (writer.folder / name).unlink(missing_ok=True)
            writer._tally = bundle.tally
            size = os.fstat(writer._fd).st_size
            writer._size = size - bundle.lost_bytes
            os.ftruncate(writer._fd, writer._size)
    except BaseException:
        writer.close()
        raise
    writer.kind = bundle.kind
    writer.created = bundle.created
    writer.documents = bundle.hashes
    writer.head = bundle.head
    writer.blocks = len(bundle.blocks)
    return writer, bundle


def _encoded(documents: Documents, taken: dict[str, str]) -> dict[str, bytes]:
    """All documents as bytes, before any is written."""
    encoded = {}
    for name, document in documents.items():
        check_name(name, document=True)
        try:
            data = canonical(document)
        except Deep500Error as error:
            raise Deep500Error(f"{name}: {error}") from None
        if name in taken or len(data) > PARSE_LIMIT:
            raise Deep500Error(
                f"{name} was given at creation already, or has more than {PARSE_LIMIT} bytes"
            )
        encoded[name] = data
    return encoded


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
def _one_line(failure: str) -> Iterator[None]:
    """Turn an error of the system into a Deep500Error that says what failed, on one line."""
    try:
        yield
    except (
        OSError,
        ValueError,
    ) as error:  # a path may be one the system cannot spell
        raise Deep500Error(f"{failure}: {ascii_line(error)}") from None
