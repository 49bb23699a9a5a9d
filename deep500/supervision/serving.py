"""The child's side: one answer per request, until the other side closes. Standard library only."""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TextIO

from ..errors import Deep500Error, Wrong

Message = dict[str, Any]
Progress = Callable[[str], None]


def serve(handle: Callable[[Message, Progress], Message]) -> None:
    """Answer what comes through the pipes whose descriptors are the program's arguments."""
    die_with_parent()
    reply, request = map(int, sys.argv[1:3])
    with os.fdopen(reply, "w") as replies, os.fdopen(request) as requests:
        for line in requests:
            message = json.loads(line)
            send(replies, _answer(handle, message, lambda text: send(replies, {"progress": text})))


def send(replies: TextIO, message: Message) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def die_with_parent() -> None:
    """Linux only: a parent that is killed takes us with it, even in the middle of an endless loop."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _answer(
    handle: Callable[[Message, Progress], Message], message: Message, progress: Progress
) -> Message:
    """What is not an error for users is left to end the process, with its traceback."""
    try:
        return handle(message, progress)
    except Deep500Error as error:
        return {"error": str(error), "wrong": isinstance(error, Wrong)}
    except SystemExit as error:
        return {"died": f"the code called exit({error.code!r})"}
    except MemoryError:
        return {"died": "the memory was used up"}
