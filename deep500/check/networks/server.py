"""The child process of processes.py: a NetworkRunner that answers requests; arrays come and go in files."""

import sys

from ...errors import Unsupported
from ...frameworks import framework as find_framework
from ...supervision.serving import Message, Progress, serve
from ..wire import ArrayFile, decoded, encoded
from .answering import Answering, attempted
from .engine import engine_named
from .processes import LONGEST
from .runner import NetworkRunner
from .values import QUESTIONS, pack


class RunnerSession:
    """Answers a request by calling the runner's method of that name; arrays come and go in a file."""

    def __init__(self, questions: ArrayFile, answers: ArrayFile) -> None:
        self.questions = questions
        self.answers = answers
        self.runner: Answering | None = None

    def answer(self, message: Message, progress: Progress) -> Message:
        sys.path += [folder for folder in message["path"] if folder not in sys.path]
        progress(message["doing"])
        if self.runner is None:
            self.runner = _runner(message)
        values = decoded(message["values"], QUESTIONS, self.questions)
        result = attempted(self.runner, message["method"], values)
        if isinstance(result, Exception):
            missing = isinstance(result, Unsupported)
            return {"answer": {"raised": str(result), "missing": missing}}
        self.answers.end = 0
        return {"answer": {"value": encoded(result, pack, self.answers)}}


def _runner(message: Message) -> Answering:
    if message["engine"]:
        return engine_named(message["engine"])
    framework = find_framework(message["framework"])
    return NetworkRunner(framework, message["seed"])


if __name__ == "__main__":
    questions, answers = (ArrayFile(int(name), LONGEST) for name in sys.argv[3:5])
    serve(RunnerSession(questions, answers).answer)
