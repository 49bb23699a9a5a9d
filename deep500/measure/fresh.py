"""A session in a fresh process, with a deadline on every answer."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..errors import Deep500Error
from ..supervision.child import Child, Ended, Silent
from .clock import Clock
from .layout import Layout, draw_layout
from .plan import Plan
from .session import Visits


class FreshSession:
    """The same calls as Session, answered by a new Python process."""

    def __init__(self, plan: Plan, clock: Clock, layout: Layout | None = None):
        self.layout = layout or draw_layout(plan.seed, 0, len(plan.entries))
        self.timeout_s = plan.timeout_s
        self.names = ", ".join(repr(e.name) for e in plan.entries)
        # An environment of random size moves the stack, so that its address is not the same in every process.
        environment = {"DEEP500_PADDING": "x" * self.layout.environment}
        self.child = Child.fresh(f"{__package__}.worker", environment)
        self.pause, self.go_on = self.child.pause, self.child.go_on
        self.close, self.kill = self.child.close, self.child.kill
        self._first = {
            "entries": [e.to_json() for e in plan.entries],
            "sync": plan.sync,
            "clock": asdict(clock),
            "cold": plan.cache == "cold",
            "layout": self.layout.to_json(),
        }

    def calibrate(self) -> list[int]:
        return self._ask(self._first, "calls")

    def block(self, calls: Sequence[int], orders: Sequence[Sequence[int]]) -> Visits:
        return Visits(**self._ask({"calls": calls, "orders": orders}, "visits"))

    def finish(self) -> None:
        self._ask({}, "finished")

    def _ask(self, request: dict, key: str) -> Any:
        try:
            return self.child.ask(request, key, self.timeout_s)
        except Silent:
            raise Deep500Error(
                f"no answer from {self.names} within {self.timeout_s:g} s: raise --timeout or --budget"
            ) from None
        except Ended as end:
            raise Deep500Error(f"the process that timed {self.names} ended {end.how}") from None
