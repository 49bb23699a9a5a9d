"""The judge's side of the processes that an operator and its truth run in: questions go out, arrays come back."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ...contracts.operator import Operator
from ...errors import Deep500Error, Incomplete, Unsupported
from ...supervision.child import Child, Died, Silent
from ..wire import LONGEST, ArrayFiles, Malformed, decoded, encoded
from .formats import Values
from .functions import ReferenceFailed
from .runner import Arrays, Gradients

SERVING = f"{__package__}.server"
ROLES = {
    "runner": "the operator",
    "oracle": "the operator in float64",
    "fresh": "the operator in float64",
    "reference": "the reference",
}
LARGE_MESSAGE = LONGEST // 8  # answers may be larger than their questions
# Threads that wait for others of an OpenMP team sleep: many calls are short.
PASSIVE = {"OMP_WAIT_POLICY": "passive"}
# glibc fills memory with this byte when it is allocated and when it is freed.
RUNNER_ENV = {"MALLOC_PERTURB_": "85", **PASSIVE}
# What is right does not depend on threads.
ORACLE_ENV = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **PASSIVE}


class Raised(Deep500Error):
    """Code of a user or a framework raised something."""


class ProcessLost(BaseException):
    """A process is gone or silent. A BaseException, so that nothing that catches errors of a user's code catches it."""

    def __init__(self, role: str, error: Died):
        text = str(error)
        if role != "runner":
            text = f"{ROLES[role]}: {text}"
        super().__init__(text)
        is_silent = isinstance(error, Silent)
        self.wrong = role != "reference" and not is_silent


class AnswerTime:
    """The time that all answers of a check may take together."""

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds

    @property
    def remaining_s(self) -> float:
        return max(self.deadline - time.monotonic(), 0.001)

    def error(self) -> Silent:
        return Silent(
            f"not decided within --timeout {self.seconds:g} s: raise --timeout if it may take longer"
        )


class OperatorProcess:
    """A process that holds operators, and answers by calling a method of its `OperatorRunner` or `OperatorOracle`."""

    def __init__(self, role: str, child: Child, files: ArrayFiles, limit: "AnswerTime"):
        self.role = role
        self.child = child
        self.files = files
        self.limit = limit
        self.operators: list[Operator] = []

    def ask(self, method: str, *values: Any) -> Any:
        """What the method of that name returns there; raises what it raised, or `Lost`."""
        self.files.questions.end = 0
        message = encoded(list(values), self._pack, self.files.questions)
        return self._answer({"method": method, "values": message})

    def ask_each(self, method: str, questions: Sequence[tuple]) -> list:
        """One answer of this method for every question, asked in messages that are not too large."""
        size = max(map(_bytes_of, questions), default=0)
        at_once = max(LARGE_MESSAGE // max(size, 1), 1)
        answers = []
        for start in range(0, len(questions), at_once):
            asked = list(questions[start : start + at_once])
            answered = self.ask("each", method, asked)
            if not isinstance(answered, list) or len(answered) != len(asked):
                raise self.malformed("one answer for every question")
            answers += answered
        return answers

    def open(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Load what is asked for; returns a description of each operator."""
        message = request | {"role": self.role}
        descriptions = self._answer({"open": message})
        if not isinstance(descriptions, list) or not descriptions:
            raise self.malformed("descriptions of operators")
        return descriptions

    def malformed(self, expected: str) -> ProcessLost:
        """The error for an answer that is not what was asked for."""
        return ProcessLost(
            self.role, Died(f"the process sent something else than {expected}")
        )

    def _answer(self, message: Mapping[str, Any]) -> Any:
        try:
            answer = self.child.ask(message, "answer", self.limit.remaining_s)
        except Silent:
            # the time of all answers together, of which this one had the rest
            raise ProcessLost(self.role, self.limit.error()) from None
        except Died as error:
            raise ProcessLost(self.role, error) from None
        match answer:
            case {"value": value}:
                return self._value(value)
            case {
                "raised": str() as text,
                "unsupported": bool() as unsupported,
            }:
                if self.role == "reference":
                    raise ReferenceFailed(text[:1000])
                if answer.get("incomplete") is True:
                    raise Incomplete(text[:1000])
                if unsupported:
                    raise Unsupported(text[:1000])
                raise Raised(text[:1000])
        raise self.malformed("an answer")

    def _value(self, message: Any) -> Any:
        try:
            return decoded(message, file=self.files.answers)
        except (Malformed, RecursionError):
            raise self.malformed("a value") from None

    def _pack(self, value: Any) -> tuple[str, int] | None:
        """An operator as its number in the other process."""
        if not isinstance(value, Operator):
            return None
        for number, other in enumerate(self.operators):
            if other is value:
                return "operator", number
        raise LookupError("this process holds no such operator")


def _bytes_of(question: Any) -> int:
    """The bytes of the arrays of a question."""
    if isinstance(question, tuple | list):
        return sum(map(_bytes_of, question))
    return int(getattr(question, "nbytes", 0))


class RemoteRunner:
    """A `Runner` in a process of its own."""

    def __init__(self, process: OperatorProcess):
        self.process = process

    def kernel(self, operator: Operator, inputs: Values) -> str:
        return str(self.process.ask("kernel", operator, inputs))

    def keeps_denormals(self) -> bool:
        return bool(self.process.ask("keeps_denormals"))

    def run(self, operator: Operator, inputs: Values, layout: str = "plain") -> Arrays:
        return self.process.ask("run", operator, inputs, layout)

    def gradient(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        layout: str = "plain",
    ) -> Gradients:
        return self.process.ask("gradient", operator, inputs, seeds, layout)

    def autodiff(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        asked: Sequence[int],
    ) -> Gradients | None:
        return self.process.ask("autodiff", operator, inputs, seeds, asked)

    def touched(self, operator: Operator, inputs: Values, seeds: Values) -> list[Any]:
        return self.process.ask("touched", operator, inputs, seeds)

    def sequence(
        self, operator: Operator, calls: Sequence[tuple[int, Values]]
    ) -> list[list[Arrays]]:
        return self.process.ask("sequence", operator, calls)

    def repeated(
        self, operator: Operator, inputs: Values, seeds: Values, count: int
    ) -> list[Gradients]:
        return self.process.ask("repeated", operator, inputs, seeds, count)

    def interleaved(
        self, operator: Operator, calls: Sequence[tuple[Values, Values]]
    ) -> list[dict[str, list]]:
        return self.process.ask("interleaved", operator, calls)

    def guarded(
        self, operator: Operator, inputs: Values, seeds: Values, filling: int
    ) -> dict[str, list]:
        return self.process.ask("guarded", operator, inputs, seeds, filling)

    def sanitized(
        self,
        operator: Operator,
        inputs: Values,
        seeds: Values,
        seconds: float,
    ) -> list[str] | None:
        return self.process.ask("sanitized", operator, inputs, seeds, seconds)


class Processes(ExitStack):
    """The processes of one check. All are started at once, and killed when the context is left."""

    def __init__(self, timeout_s: float):
        super().__init__()
        self.limit = AnswerTime(timeout_s)

    def start(self, role: str) -> OperatorProcess:
        env = RUNNER_ENV if role == "runner" else ORACLE_ENV
        files = self.enter_context(ArrayFiles())
        child = self.enter_context(Child.fresh(SERVING, env, files.descriptors))
        return OperatorProcess(role, child, files, self.limit)
