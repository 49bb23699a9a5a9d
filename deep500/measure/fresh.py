"""A session in a fresh process, with a deadline on every answer."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from ..errors import Deep500Error
from ..supervision.child import Child, Died, Ended, Silent
from .agreement import (
    Clocks,
    checked_calls,
    checked_clocks,
    checked_preparation,
    checked_rounds,
)
from .clock import Clock, now
from .layout import MemoryLayout, draw_layout
from .plan import Plan
from .session import Preparation, Visits


class FreshSession:
    """The same calls as Session, answered by a new Python process."""

    def __init__(self, plan: Plan, clock: Clock, layout: MemoryLayout | None = None):
        if layout is None:
            layout = draw_layout(plan.seed, 0, len(plan.entries))
        self.layout = layout
        self.timeout_s = plan.timeout_s
        self.clocks = Clocks(0, 0, 0)
        names = [repr(entry.name) for entry in plan.entries]
        self.names = ", ".join(names)
        # An environment of random size moves the stack, so that its address is not the same in every process.
        environment = {"DEEP500_PADDING": "x" * self.layout.environment}
        self.child = Child.fresh(f"{__package__}.worker", environment)
        self.pause = self.child.pause
        self.go_on = self.child.go_on
        self.close = self.child.close
        self.kill = self.child.kill
        entries = [entry.to_json() for entry in plan.entries]
        self._first: dict[str, Any] = {
            "entries": entries,
            "sync": plan.sync,
            "clock": asdict(clock),
            "cold": plan.cache == "cold",
            "user_imports": plan.user_imports,
            "layout": self.layout.to_json(),
        }

    def calibrate(self, watched: bool = False) -> list[int]:
        calls = self._ask(self._first | {"watched": watched}, "calls")
        with self._explained():
            return checked_calls(calls, len(self._first["entries"]))

    def prepare(
        self,
        calls: Sequence[int],
        tolerance: float,
        seconds: float,
        emptied: bool = False,
    ) -> Preparation:
        request = {
            "calls": calls,
            "tolerance": tolerance,
            "seconds": seconds,
            "emptied": emptied,
        }
        answer = self._ask(request, "prepared")
        with self._explained():
            untimed, after = checked_preparation(answer, len(calls))
            return Preparation(untimed, after)

    def block(
        self,
        calls: Sequence[int],
        orders: Sequence[Sequence[int]],
        untimed: Sequence[int] | None = None,
    ) -> Visits:
        began = now()
        request = {"calls": calls, "orders": orders, "untimed": untimed}
        answer = self._ask(request, "block")
        wall_ns = now() - began
        with self._explained():
            parts = answer if isinstance(answer, dict) else {}
            times = checked_rounds(parts.get("ns"), orders, 1)
            used = checked_rounds(parts.get("cpu_ns"), orders, 0)
            clocks = checked_clocks(
                wall_ns, parts.get("spent_ns"), times, parts.get("untimed_ns")
            )
            self.clocks += clocks
            return Visits(times, used, clocks.untimed_ns)

    def take_clocks(self) -> Clocks:
        """The clocks of all blocks since the last call."""
        taken, self.clocks = self.clocks, Clocks(0, 0, 0)
        return taken

    def finish(self) -> None:
        self._ask({}, "finished")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except Deep500Error as error:
            raise Deep500Error(
                f"the process that timed {self.names} is not trusted: {error}"
            ) from None

    def _ask(self, request: dict, key: str) -> Any:
        try:
            return self.child.ask(request, key, self.timeout_s)
        except Silent:
            raise Deep500Error(
                f"no answer from {self.names} within {self.timeout_s:g} s: raise --timeout or --budget"
            ) from None
        except Ended as end:
            raise Deep500Error(
                f"the process that timed {self.names} ended {end.how}"
            ) from None
        except Died as death:
            raise Deep500Error(
                f"the process that timed {self.names} failed: {death}"
            ) from None
