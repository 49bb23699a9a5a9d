"""The other side of processes.py: holds operators, calls what it is asked to call, and sends back what came of it."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...contracts.operator import Operator
from ...custom.cpp import CppOp
from ...custom.operators import CustomOp
from ...errors import Deep500Error, Unsupported, one_line
from ...frameworks import framework as find_framework
from ...supervision.child import Child
from ...supervision.serving import Message, Progress, serve
from .dock import Dock
from .remote import describe
from .subjects import (
    as_operator,
    function_operator,
    imported,
    instance_of,
    named,
    named_function,
    parameters_of,
)
from .wire import decoded, encoded
from .witness import Witness

AT_LEAST = 4  # threads, so that a race shows on a machine of few cores too
LONGEST_S = 600.0  # the judge's own deadline comes before
MISSING = (
    "not implemented",
    "nsupported dtype",
    "doesn't support tensors of type",
    "Expected both inputs to be Half",
    "not in the list of allowed values",
    "Could not find device",
)  # how PyTorch and TensorFlow say it


class Session:
    """What one process holds: an operator in the dock, or a witness of what is right."""

    def __init__(self) -> None:
        self.operators: list[Operator] = []
        self.holder: Any = None
        self.copies = False

    def answer(self, message: Message, progress: Progress) -> Message:
        if "open" in message:
            return {"answer": _attempted(lambda: self.open(message["open"]))}
        if self.copies:
            return {"answer": self._in_a_copy(message)}
        return {"answer": self._call(message)}

    def open(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Load what is asked for, for one of four roles."""
        sys.path += [folder for folder in request["path"] if folder not in sys.path]
        role, self.copies = request["role"], request["role"] == "first"
        if role == "reference":
            reference = _found(request["reference"], function=True)
            self.holder = Witness(reference)
            labels, required = parameters_of(reference)
            return [{"labels": labels, "required": required}]
        subject = _found(request["subject"], function=request["reference"] is not None)
        is_function = callable(subject) and not isinstance(
            subject, type | Operator | CustomOp
        )
        if is_function:
            self.operators = [function_operator(subject, subject, request["framework"])]
        else:
            operator = as_operator(subject, None, request["framework"])
            single = request["single"] and isinstance(operator, type)
            self.operators = _operators(instance_of(operator) if single else operator)
        if role == "dock":
            self.holder = Dock(find_framework(request["framework"]))
            threads = max(AT_LEAST, os.cpu_count() or 1)
        else:
            self.holder, threads = Witness(), 1
        for operator in self.operators:
            if isinstance(operator.adapted, CppOp):
                operator.adapted.set_threads(threads)
        return [
            describe(operator) | {"function": is_function}
            for operator in self.operators
        ]

    def _call(self, message: Message) -> Message:
        def called() -> Any:
            values = decoded(message["values"], self.operators)
            with np.errstate(all="ignore"):
                return getattr(self.holder, message["method"])(*values)

        return _attempted(called)

    def _in_a_copy(self, message: Message) -> Any:
        """Asked of a copy of this process, so that nothing which an earlier question left behind can matter."""
        with Child.forked(lambda send: send({"answer": self._call(message)})) as copy:
            return copy.answer("answer", LONGEST_S)


def _attempted(function: Callable[[], Any]) -> Message:
    """A value, or what was raised in its place."""
    try:
        return {"value": encoded(function())}
    except (SystemExit, MemoryError):
        raise
    except (
        BaseException
    ) as error:  # the code of a user or a framework may raise anything
        return {"raised": said(error), "unsupported": is_missing(error)}


def said(error: BaseException) -> str:
    """One line; with the kind of the error where its words are not ours."""
    return one_line(error, kind=not isinstance(error, Deep500Error))


def is_missing(error: BaseException) -> bool:
    """Whether it says that something is not offered, which is not wrong."""
    if isinstance(error, Unsupported | NotImplementedError):
        return True
    return any(words in str(error) for words in MISSING)


def _found(address: Mapping[str, Any], function: bool) -> Any:
    """An operator, or a function too, by its address: as a command line names it, or by module and name."""
    if "text" in address:
        if address["function"]:
            return named_function(address["text"])
        return named(address["text"], address["attributes"], function)
    found = imported(address["module"], address["name"])
    return found(**address["settings"]) if isinstance(found, type) else found


def _operators(subject: Operator | type[Operator]) -> list[Operator]:
    if isinstance(subject, type):
        return [subject(**case.attributes) for case in subject.cases]
    return [subject]


if __name__ == "__main__":
    serve(Session().answer)
