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
POISON = {
    "MALLOC_PERTURB_": "85"
}  # glibc fills what it hands out, and what it takes back


class Raised(Deep500Error):
    """Code of a user's or a framework's raised something."""


class Lost(BaseException):
    """A process is gone or silent: nothing that catches the errors of a user's code may catch this."""

    def __init__(self, role: str, error: Died):
        super().__init__(str(error) if role == "dock" else f"{ROLES[role]}: {error}")
        self.wrong = role != "reference" and not isinstance(error, Silent)


class Questioned:
    """A process that answers by calling the method of that name of its `Dock` or `Witness`."""

    def __init__(self, role: str, child: Child, deadline: float):
        self.role, self.child, self.deadline = role, child, deadline
        self.operators: list[Operator] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self.ask, name)

    def ask(self, method: str, *values: Any) -> Any:
        return self._answer(
            {"method": method, "values": encoded(list(values), self._number)}
        )

    def open(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Load what is asked for; returns what there is to say of each operator."""
        descriptions = self._answer({"open": request | {"role": self.role}})
        if not isinstance(descriptions, list) or not descriptions:
            raise self.malformed("descriptions of operators")
        return descriptions

    def malformed(self, wanted: str) -> Lost:
        """What came is not what was asked for."""
        return Lost(self.role, Died(f"the process sent something else than {wanted}"))

    def _answer(self, message: Mapping[str, Any]) -> Any:
        left = self.deadline - time.monotonic()
        try:
            answer = self.child.ask(message, "answer", max(left, 0.001))
        except Died as error:
            raise Lost(self.role, error) from None
        match answer:
            case {"value": value}:
                return self._value(value)
            case {"raised": str() as text, "unsupported": bool() as unsupported}:
                raise (Unsupported if unsupported else Raised)(text[:1000])
        raise self.malformed("an answer")

    def _value(self, message: Any) -> Any:
        try:
            return decoded(message)
        except (Malformed, RecursionError):
            raise self.malformed("a value") from None

    def _number(self, operator: Operator) -> int:
        return next(i for i, known in enumerate(self.operators) if known is operator)


class Processes(ExitStack):
    """The processes of one check. All are started at once, and killed when the context is left."""

    def __init__(self, timeout_s: float):
        super().__init__()
        self.deadline = time.monotonic() + timeout_s

    def start(self, role: str, env: Mapping[str, str] | None = None) -> Questioned:
        return Questioned(
            role, self.enter_context(Child.fresh(SERVING, env)), self.deadline
        )
