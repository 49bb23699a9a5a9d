"""Standard output and error while a verb runs: if their reader goes away early, the exit code stays the same."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import (
    ExitStack,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
)
from typing import BinaryIO, TextIO


class _Unbroken(io.RawIOBase):
    """Passes bytes on until the reader is gone, then drops them; other errors are raised only if it is `needed`."""

    def __init__(self, target: BinaryIO, needed: bool) -> None:
        self.target = target
        self.needed = needed

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.target.fileno()

    def isatty(self) -> bool:
        return self.target.isatty()

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            self.target.write(data)
            self.target.flush()
        except OSError as error:
            self._drop()  # otherwise Python tries again when it exits, and prints an error
            if self.needed and not isinstance(error, BrokenPipeError):
                raise
        return len(data)

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.target.fileno())
        os.close(nowhere)


@contextmanager
def unbroken() -> Iterator[None]:
    """Inside this context, print never raises BrokenPipeError, and escapes characters that the encoding lacks."""
    with ExitStack() as stack:
        out = stack.enter_context(redirect_stdout(_wrapped(sys.stdout, needed=True)))
        error = stack.enter_context(redirect_stderr(_wrapped(sys.stderr, needed=False)))
        try:
            yield
        finally:
            error.flush()
            out.flush()


def _wrapped(stream: TextIO | None, needed: bool) -> TextIO:
    if stream is None:  # the caller closed it: `d5 list >&-`
        return open(os.devnull, "w")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Unbroken(stream.buffer, needed)),  # type: ignore[type-var]
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=not needed or stream.isatty(),
    )
