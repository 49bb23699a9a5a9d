"""Programs of some of the ranks, which are numbered from 0 among themselves."""

from collections.abc import Sequence
from typing import Any

from ..contracts.transport import COLLECTIVES, Program, Recv, RecvAny, Send
from ..errors import Deep500Error


def among(ranks: Sequence[int], program: Program) -> Program:
    """The program of one of these ranks, which calls the n-th of them rank n, as all ranks carry it out."""
    answer: Any = None
    while True:
        try:
            step = program.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = yield _renumbered(step, ranks)


def _renumbered(step: Any, ranks: Sequence[int]) -> Any:
    if isinstance(step, Send):
        return Send(ranks[step.to], step.array, step.tag, step.announced)
    if isinstance(step, Recv):
        return Recv(ranks[step.source], step.into, step.tag, step.announced)
    if isinstance(step, (RecvAny, *COLLECTIVES)):
        raise Deep500Error(
            f"{type(step).__name__} is for all ranks, and not for a group of {len(ranks)}: give a collective that "
            "sends messages between two ranks, such as Ring()"
        )
    return step
