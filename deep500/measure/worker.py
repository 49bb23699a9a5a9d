"""The fresh process: builds a session from a JSON request, then times blocks on demand. Standard library only."""

import ctypes
import json
import os
import signal
import sys
from typing import TextIO

from ..errors import Deep500Error, Wrong
from .candidates import Function, Statement, resolve
from .clock import Clock
from .plan import Entry
from .session import Session


def _candidate(entry: dict) -> Statement | Function:
    if entry["kind"] == "function":
        return Function(entry["text"], entry["setup"])
    return Statement(entry["text"], entry["setup"], entry.get("teardown", ""))


def serve(requests: TextIO, replies: TextIO) -> None:
    """Answer one request per line until the other side closes."""
    session: Session | None = None
    reply: dict
    for line in requests:
        request = json.loads(line)
        try:
            if session is None:
                entries = [Entry(e["name"], _candidate(e), e["levels"]) for e in request["entries"]]
                sync = resolve(request["sync"]) if request["sync"] else None
                session = Session(entries, Clock(**request["clock"]), sync, request["cold"])
                reply = {"calls": session.calibrate()}
            elif "orders" not in request:
                session.finish()
                reply = {}
            else:
                reply = {"ns": session.block(request["calls"], request["orders"])}
        except Deep500Error as error:
            reply = {"error": str(error), "wrong": isinstance(error, Wrong)}
        except SystemExit as error:
            reply = {"error": f"the timed code called sys.exit({error.code!r})"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _die_with_parent() -> None:
    """Linux only: a parent that is killed takes us with it, even in the middle of an endless loop."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    _die_with_parent()
    with os.fdopen(int(sys.argv[1])) as requests, os.fdopen(int(sys.argv[2]), "w") as replies:
        serve(requests, replies)
