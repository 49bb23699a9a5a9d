"""The judge's side of the processes that an operator and its truth run in: questions go out, arrays come back."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from ...contracts.operator import Operator
from ...errors import Deep500Error, Unsupported
from ...supervision.child import Child, Died
from .wire import Malformed, decoded, encoded

SERVING = f"{__package__}.questioned"
POISON = {"MALLOC_PERTURB_": "85"}  # glibc fills what it hands out, and what it takes back


class Raised(Deep500Error):
    """Code of a user's or a framework's raised something."""


class Questioned:
    """A process that answers by calling the method of that name of its `Dock` or `Witness`."""

    def __init__(self, child: Child, deadline: float):
        self.child, self.deadline = child, deadline
        self.operators: list[Operator] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self.ask, name)

    def ask(self, method: str, *values: Any) -> Any:
        return self._answer({"method": method, "values": encoded(list(values), self._number)})

    def open(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Load what is asked for; returns what there is to say of each operator."""
        descriptions = self._answer({"open": dict(request)})
        if not isinstance(descriptions, list):
            raise Died("the process sent something else than descriptions of operators")
        return descriptions

    def _answer(self, message: Mapping[str, Any]) -> Any:
        left = self.deadline - time.monotonic()
        answer = self.child.ask(message, "answer", max(left, 0.001))
        match answer:
            case {"value": value}:
                return _value(value)
            case {"raised": str() as text, "unsupported": bool() as unsupported}:
                raise (Unsupported if unsupported else Raised)(text[:1000])
        raise Died("the process sent something else than an answer")

    def _number(self, operator: Operator) -> int:
        return next(i for i, known in enumerate(self.operators) if known is operator)


def _value(message: Any) -> Any:
    try:
        return decoded(message)
    except (Malformed, RecursionError) as error:
        raise Died(f"the process sent a malformed answer: {error}") from None


class Processes(ExitStack):
    """The processes of one check. All are started at once, and killed when the context is left."""

    def __init__(self, timeout_s: float):
        super().__init__()
        self.deadline = time.monotonic() + timeout_s

    def start(self, env: Mapping[str, str] | None = None) -> Questioned:
        return Questioned(self.enter_context(Child.fresh(SERVING, env)), self.deadline)
