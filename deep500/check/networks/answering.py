"""What answers the questions of a check: a framework's runner or an engine, in this process or in another."""

from typing import Any

from ...errors import (
    Deep500Error,
    Unsupported,
    raise_if_mistake,
    with_place,
)
from ..operators.judging import quiet
from ..operators.server import is_missing
from .engine import Engine
from .runner import NetworkRunner

Answering = NetworkRunner | Engine


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
