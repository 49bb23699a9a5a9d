"""The child process of processes.py: a NetworkRunner that answers requests; arrays come and go in files."""

import sys
from pathlib import Path
from typing import Any

from ...errors import (
    Deep500Error,
    Unsupported,
    raise_if_mistake,
    with_place,
)
from ...frameworks import framework as find_framework
from ...supervision.serving import Message, Progress, serve
from ..operators.judging import quiet
from ..operators.server import is_missing
from .engine import Engine, engine_named
from .parcels import Parcel, unpacked
from .runner import NetworkRunner

Answering = NetworkRunner | Engine


class RunnerSession:
    """Answers a request by calling the runner's method of that name; arrays come and go in a file."""

    def __init__(self) -> None:
        self.runner: Answering | None = None

    def answer(self, message: Message, progress: Progress) -> Message:
        sys.path += [folder for folder in message["path"] if folder not in sys.path]
        file = Path(message["file"])
        progress(message["doing"])
        if self.runner is None:
            self.runner = _runner(message)
        values = unpacked(message["values"], file.read_bytes())
        result = attempted(self.runner, message["method"], values)
        if isinstance(result, Exception):
            missing = isinstance(result, Unsupported)
            return {"answer": {"raised": str(result), "missing": missing}}
        parcel = Parcel()
        packed = parcel.pack(result)
        parcel.write(file)
        return {"answer": {"value": packed}}


def _runner(message: Message) -> Answering:
    if message["engine"]:
        return engine_named(message["engine"])
    framework = find_framework(message["framework"])
    return NetworkRunner(framework, message["seed"])


def attempted(runner: Answering, method: str, values: tuple) -> Any:
    """What a method of the runner returns; if it raises, a `Deep500Error` with the reason in one line."""
    try:
        with quiet():
            run = getattr(runner, method)
            return run(*values)
    except (SystemExit, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a framework may raise anything
        if isinstance(error, Exception):
            raise_if_mistake(error)
        kind = Unsupported if is_missing(error) else Deep500Error
        return kind(with_place(error))


if __name__ == "__main__":
    serve(RunnerSession().answer)
