"""Two programs of one rank at the same time: each goes on as soon as what it waits for is there."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...contracts.transport import Handle, Program, Wait, WaitAny


@dataclass
class Side:
    """A program, what it is to be sent, and the handles that it waits for."""

    program: Program
    answer: Any = None
    waits: Wait | WaitAny | None = None
    results: dict[Handle, Any] = field(default_factory=dict)
    done: bool = False
    value: Any = None

    def advance(self) -> Program:
        """Do one step, or begin to wait."""
        try:
            step = self.program.send(self.answer)
        except StopIteration as stop:
            self.done, self.value = True, stop.value
            return
        if isinstance(step, Wait | WaitAny) and step.handles:
            self.waits, self.results = step, {}
        else:
            self.answer = yield step

    @property
    def missing(self) -> list[Handle]:
        """The handles that it still waits for."""
        if self.waits is None:
            return []
        return [handle for handle in self.waits.handles if handle not in self.results]

    def take(self, handle: Handle, result: Any) -> None:
        """Take a result; the program may go on if it is the last one, or if any would do."""
        assert self.waits is not None
        self.results[handle] = result
        if isinstance(self.waits, WaitAny):
            self.answer = list(self.waits.handles).index(handle), result
        elif self.missing:
            return
        else:
            self.answer = [self.results[handle] for handle in self.waits.handles]
        self.waits = None


def side_by_side(programs: Sequence[Program]) -> Program:
    """All of them in turn, a step each; the value is the list of their values."""
    sides = [Side(program) for program in programs]
    while not all(side.done for side in sides):
        running = [side for side in sides if not side.done and side.waits is None]
        for side in running:
            yield from side.advance()
        if not running:
            yield from _wait(sides)
    return [side.value for side in sides]


def _wait(sides: Sequence[Side]) -> Program:
    """Wait for anything that any of them waits for."""
    waiting: list[tuple[Side, Handle]] = []
    for side in sides:
        waiting += [(side, handle) for handle in side.missing]
    index, result = yield WaitAny([handle for _, handle in waiting])
    side, handle = waiting[index]
    side.take(handle, result)
