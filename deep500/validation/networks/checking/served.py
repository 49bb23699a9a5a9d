"""The other side of processes.py: a Runner in a process of its own, asked through files."""

import sys
from pathlib import Path
from typing import Any

from ....errors import Deep500Error, Unsupported
from ....frameworks import framework as find_framework
from ....supervision.serving import Message, Progress, serve
from ...checking.judging import quiet
from ...checking.questioned import is_missing, said
from .parcels import Parcel, unpacked
from .runner import Runner


class Session:
    """Answers by calling the method of that name; arrays come and go in a file."""

    def __init__(self) -> None:
        self.runner: Runner | None = None

    def answer(self, message: Message, progress: Progress) -> Message:
        sys.path += [folder for folder in message["path"] if folder not in sys.path]
        place = Path(message["file"])
        progress(message["doing"])
        if self.runner is None:
            self.runner = Runner(find_framework(message["framework"]), message["seed"])
        values = unpacked(message["values"], place.read_bytes())
        answer = attempted(self.runner, message["method"], values)
        if isinstance(answer, Exception):
            return {
                "answer": {
                    "raised": str(answer),
                    "missing": isinstance(answer, Unsupported),
                }
            }
        parcel = Parcel()
        packed = parcel.pack(answer)
        parcel.write(place)
        return {"answer": {"value": packed}}


def attempted(runner: Runner, method: str, values: tuple) -> Any:
    """What a method returns, or an error of ours that says in one line what was raised in its place."""
    try:
        with quiet():
            return getattr(runner, method)(*values)
    except (SystemExit, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a framework may raise anything
        kind = Unsupported if is_missing(error) else Deep500Error
        return kind(said(error))


if __name__ == "__main__":
    serve(Session().answer)
