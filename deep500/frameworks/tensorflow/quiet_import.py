"""Imports TensorFlow without the notes on the processor that it writes to stderr."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

# Written by static constructors, before TF_CPP_MIN_LOG_LEVEL is read.
NOTES = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\) is called"
    rb"|I0000 .* oneDNN custom operations are on"
)


@contextmanager
def without_notes() -> Iterator[None]:
    """Hold back what is written to stderr, and write all of it but TensorFlow's notes at the end."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        stderr = os.dup(2)
    except OSError:  # it is closed
        yield
        return
    with tempfile.TemporaryFile() as held_back:
        os.dup2(held_back.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held_back.seek(0)
            for line in held_back:
                if not NOTES.match(line):
                    os.write(2, line)
