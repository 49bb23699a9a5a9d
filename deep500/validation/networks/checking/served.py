"""The other side of processes.py: a Runner in a process of its own, asked through files."""

import pickle
import sys
from pathlib import Path
from typing import Any

from ....errors import Deep500Error, Unsupported
from ....frameworks import framework as find_framework
from ....supervision.serving import Message, Progress, serve
from ...checking.judging import quiet
from ...checking.questioned import is_missing, said
from .runner import Runner


class Session:
    """Answers by calling the method of that name; values come and go in files that this project alone writes."""

    def __init__(self) -> None:
        self.runner: Runner | None = None

    def answer(self, message: Message, progress: Progress) -> Message:
        sys.path += [folder for folder in message["path"] if folder not in sys.path]
        place = Path(message["file"])
        method, values = pickle.loads(place.read_bytes())
        progress(message["doing"])
        if self.runner is None:
            self.runner = Runner(find_framework(message["framework"]), message["seed"])
        place.write_bytes(pickle.dumps(attempted(self.runner, method, values)))
        return {"answer": True}


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
