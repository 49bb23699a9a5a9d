"""The child process of processes.py: a NetworkRunner that answers requests; arrays come and go in files."""

import sys
from pathlib import Path

from ...errors import Unsupported
from ...frameworks import framework as find_framework
from ...supervision.serving import Message, Progress, serve
from .answering import Answering, attempted
from .engine import engine_named
from .parcels import Parcel, unpacked
from .runner import NetworkRunner


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


if __name__ == "__main__":
    serve(RunnerSession().answer)
