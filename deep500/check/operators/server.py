"""The process at the other end of processes.py: holds operators, calls what it is asked to, and sends the results."""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp
from ...errors import (
    Deep500Error,
    Incomplete,
    InternalError,
    Unsupported,
    one_line,
    raise_if_mistake,
)
from ...frameworks import framework as find_framework
from ...import_address import at_address
from ...supervision.child import Child
from ...supervision.serving import (
    Message,
    Progress,
    internal_answer,
    serve,
)
from ..wire import ArrayFile, Malformed, decoded, encoded
from .examples import Reference
from .functions import ReferenceFunction, by_itself
from .oracle import OperatorOracle
from .remote_operator import describe
from .runner import OperatorRunner
from .subjects import (
    as_operator,
    function_operator,
    instance_of,
    named,
    named_reference,
    parameters_of,
)

WIDE = "float64"  # loaded at once: every copy would look for its library again
AT_LEAST = 4  # threads, so that a race shows on a machine of few cores too
LONGEST_S = 600.0  # the judge's own deadline comes before
MISSING = (
    "not implemented",
    "nsupported dtype",
    "doesn't support tensors of type",
    "Expected both inputs to be Half",
    "not in the list of allowed values",
    "Could not find device",
    # JAX of a function of NumPy's arrays: it has no values while it traces, and overwrites none
    "traced array with",
    "Array boolean indices must be concrete",
    "JAX arrays are immutable",
)  # how PyTorch, TensorFlow and JAX say it


class QuestionSession:
    """What one process holds: an operator in the runner, or a oracle of what is right."""

    def __init__(self, questions: ArrayFile, answers: ArrayFile) -> None:
        self.questions = questions
        self.answers = answers
        self.operators: list[Operator] = []
        self.holder: Any = None
        self.copies = False

    def answer(self, message: Message, progress: Progress) -> Message:
        if "open" in message:
            return {"answer": self._attempted(lambda: self.open(message["open"]))}
        if self.copies:
            return {"answer": self._in_a_copy(message)}
        return {"answer": self._call(message)}

    def open(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Load what is asked for, for one of four roles; returns descriptions."""
        for folder in request["path"]:
            if folder not in sys.path:
                sys.path.append(folder)
        role = request["role"]
        self.copies = role == "fresh"
        if role == "reference":
            address = request["reference"]
            reference = _reference(address)
            name = address.get("text") or address["name"]
            self.holder = OperatorOracle(ReferenceFunction(reference, name))
            labels, required = parameters_of(reference)
            return [{"labels": labels, "required": required}]
        subject = _found(request["subject"])
        is_operator = isinstance(subject, type | Operator | CustomOp)
        is_function = callable(subject) and not is_operator
        if is_function:
            framework = request["framework"]
            self.operators = [function_operator(subject, None, framework)]
        else:
            self.operators = _operators(subject, request)
        threads = 1
        if role == "runner":
            adapter = find_framework(request["framework"])
            for operator in self.operators:
                if operator.adapted is not None:
                    adapter.check_custom_op(operator.adapted)
            self.holder = OperatorRunner(adapter)
            threads = max(AT_LEAST, os.cpu_count() or 1)
        elif is_function:
            self.copies = False  # some frameworks do not survive a fork
            adapter = find_framework(framework)
            with suppress(Unsupported):  # if its file computes when imported
                adapter.set_threads(1)
            runner = OperatorRunner(adapter)
            self.holder = OperatorOracle(by_itself(subject, framework), runner)
        else:
            self.holder = OperatorOracle()
        for operator in self.operators:
            if isinstance(operator.adapted, CppOp):
                operator.adapted.set_threads(threads)
                operator.adapted.load(WIDE)
        descriptions = []
        for operator in self.operators:
            description = describe(operator) | {"function": is_function}
            if is_function:
                _, required = parameters_of(subject)
                description["required"] = required
            descriptions.append(description)
        return descriptions

    def _call(self, message: Message) -> Message:
        unpack = {"operator": self._operator}

        def called() -> Any:
            values = decoded(message["values"], unpack, self.questions)
            with np.errstate(all="ignore"):
                method = getattr(self.holder, message["method"])
                return method(*values)

        return self._attempted(called)

    def _operator(self, number: Any) -> Operator:
        """The operator of that number."""
        if type(number) is not int or not 0 <= number < len(self.operators):
            raise Malformed("an operator that is not held here")
        return self.operators[number]

    def _in_a_copy(self, message: Message) -> Any:
        """The answer of a copy of this process, in which earlier questions cannot have left anything behind."""

        def answer(send: Callable[[Message], None]) -> None:
            try:
                send({"answer": self._call(message)})
            except InternalError as error:
                send(internal_answer(error))

        with Child.forked(answer) as copy:
            return copy.answer("answer", LONGEST_S)

    def _attempted(self, function: Callable[[], Any]) -> Message:
        """The value that the function returns, or the error that it raised, as a message."""
        try:
            value = function()
            self.answers.end = 0
            return {"value": encoded(value, file=self.answers)}
        except (SystemExit, MemoryError):
            raise
        except BaseException as error:
            # a user's or a framework's code may raise anything
            if isinstance(error, Exception):
                raise_if_mistake(error)
            return {
                "raised": said(error),
                "unsupported": is_missing(error),
                "incomplete": isinstance(error, Incomplete),
            }


def said(error: BaseException) -> str:
    """The error in one line, with its class if it is not one of this project."""
    return one_line(error, kind=not isinstance(error, Deep500Error))


def is_missing(error: BaseException) -> bool:
    """Whether the error says that a framework does not offer something, which is not wrong."""
    if isinstance(error, Unsupported | NotImplementedError):
        return True
    text = str(error)
    return any(phrase in text for phrase in MISSING)


def _reference(address: Mapping[str, Any]) -> Reference:
    """What is right, by its address: as a command line names it, or by module and name."""
    if "text" in address:
        return named_reference(address["text"])
    return _found(address)


def _found(address: Mapping[str, Any]) -> Any:
    """An operator, or a function too, by its address: as a command line names it, or by module and name."""
    if "text" in address:
        return named(address["text"], address["attributes"], function=True)
    value = at_address(address["import"])
    if isinstance(value, type):
        return value(**address["settings"])
    return value


def _operators(subject: Any, request: Mapping[str, Any]) -> list[Operator]:
    """The operator, or one for each case of a class; of a class only one if the request is for a single operator."""
    operator = as_operator(subject, None, request["framework"])
    if not isinstance(operator, type):
        return [operator]
    cls: Any = operator
    if request["single"]:
        return [instance_of(cls)]
    return [cls(**case.attributes) for case in cls.cases]


if __name__ == "__main__":
    questions, answers = map(ArrayFile, map(int, sys.argv[3:5]))
    serve(QuestionSession(questions, answers).answer)
