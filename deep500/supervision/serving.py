"""The child's side: one answer per request, until the other side closes. Standard library only."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import Deep500Error, InternalError, Wrong

Message = dict[str, Any]
Progress = Callable[[str], None]


def silent(text: str) -> None:
    """The progress function of a caller who wants no progress."""


def serve(handle: Callable[[Message, Progress], Message]) -> None:
    """Answer what comes through the pipes whose descriptors are the program's arguments.

    Every message carries the token of its request, which tells it from what anything else writes into the pipe.
    """
    reply, request = map(int, sys.argv[1:3])
    with os.fdopen(reply, "w") as replies, os.fdopen(request) as requests:
        for line in requests:
            message = json.loads(line)
            token = {"token": message.pop("token")}

            def progress(text: str, token: Message = token) -> None:
                send(replies, token | {"progress": text})

            send(replies, token | _answer(handle, message, progress))


def send(replies: TextIO, message: Message) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _answer(
    handle: Callable[[Message, Progress], Message],
    message: Message,
    progress: Progress,
) -> Message:
    """The handler's answer, or its error as one; any other exception ends the process with its traceback."""
    try:
        return handle(message, progress)
    except Deep500Error as error:
        return {"error": str(error), "wrong": isinstance(error, Wrong)}
    except InternalError as error:
        return internal_answer(error)
    except SystemExit as error:
        return {"died": f"the code called exit({error.code!r})"}
    except MemoryError:
        return {"died": "the memory was used up"}


def internal_answer(error: InternalError) -> Message:
    """A defect of ours as an answer, with the traceback, which the other side cannot see."""
    import traceback  # needed by defects only

    lines = traceback.format_exception(error)
    return {"internal": str(error), "traceback": "".join(lines)}
