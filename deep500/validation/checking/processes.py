"""The judge's side of the processes that an operator and its truth run in: questions go out, arrays come back."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from ...contracts.operator import Operator
from ...errors import Deep500Error, Unsupported
from ...supervision.child import Child, Died, Silent
from .wire import Malformed, decoded, encoded

SERVING = f"{__package__}.questioned"
ROLES = {
    "dock": "the operator",
    "witness": "the operator in float64",
    "first": "the operator in float64",
    "reference": "the reference",
}
# glibc fills memory with this byte when it is allocated and when it is freed.
POISON = {"MALLOC_PERTURB_": "85"}


class Raised(Deep500Error):
    """Code of a user or a framework raised something."""


class ProcessLost(BaseException):
    """A process is gone or silent. A BaseException, so that nothing that catches errors of a user's code catches it."""

    def __init__(self, role: str, error: Died):
        text = str(error)
        if role != "dock":
            text = f"{ROLES[role]}: {text}"
        super().__init__(text)
        is_silent = isinstance(error, Silent)
        self.wrong = role != "reference" and not is_silent


class Questioned:
    """A process that answers by calling the method of that name of its `Dock` or `Witness`."""

    def __init__(self, role: str, child: Child, deadline: float):
        self.role = role
        self.child = child
        self.deadline = deadline
        self.operators: list[Operator] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self.ask, name)

    def ask(self, method: str, *values: Any) -> Any:
        """What the method of that name returns there; raises what it raised, or `Lost`."""
        message = encoded(list(values), self._number)
        return self._answer({"method": method, "values": message})

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
        remaining_s = self.deadline - time.monotonic()
        try:
            answer = self.child.ask(message, "answer", max(remaining_s, 0.001))
        except Died as error:
            raise ProcessLost(self.role, error) from None
        match answer:
            case {"value": value}:
                return self._value(value)
            case {
                "raised": str() as text,
                "unsupported": bool() as unsupported,
            }:
                if unsupported:
                    raise Unsupported(text[:1000])
                raise Raised(text[:1000])
        raise self.malformed("an answer")

    def _value(self, message: Any) -> Any:
        try:
            return decoded(message)
        except (Malformed, RecursionError):
            raise self.malformed("a value") from None

    def _number(self, operator: Operator) -> int:
        for number, other in enumerate(self.operators):
            if other is operator:
                return number
        raise LookupError("this process holds no such operator")


class Processes(ExitStack):
    """The processes of one check. All are started at once, and killed when the context is left."""

    def __init__(self, timeout_s: float):
        super().__init__()
        self.deadline = time.monotonic() + timeout_s

    def start(
        self, role: str, env: Mapping[str, str] | None = None
    ) -> Questioned:
        child = self.enter_context(Child.fresh(SERVING, env))
        return Questioned(role, child, self.deadline)
