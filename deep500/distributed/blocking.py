"""Ordinary code as a program: a function that calls a communication in the middle of anything."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from ..contracts.transport import Program
from .communication import Communication


class _Abandoned(BaseException):
    """Ends the function when its program is closed; no `except Exception` of a user's stops it."""


class _Channel:
    """Hands the steps of a function that runs in a thread to a program, and the answers back."""

    def __init__(self) -> None:
        self.steps: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self.answers: SimpleQueue[tuple[str, Any]] = SimpleQueue()

    def run(self, program: Program) -> Any:
        """In the thread: do every step of a program."""
        answer: Any = None
        while True:
            try:
                step = program.send(answer)
            except StopIteration as stop:
                return stop.value
            self.steps.put(("step", step))
            kind, answer = self.answers.get()
            if kind == "error":
                program.close()
                raise answer


def blocking(function: Callable[[Communication], Any], rank: int, size: int) -> Program:
    """A program that calls a function with a Communication, in a thread of its own.

    One thread runs at a time: either the engine's or one function's, so that runs are as deterministic as programs.
    """
    channel = _Channel()
    communication = Communication(rank, size, channel.run)
    thread = threading.Thread(
        target=_call, args=(function, communication, channel), daemon=True
    )
    thread.start()
    try:
        while True:
            kind, value = channel.steps.get()
            if kind == "returned":
                return value
            if kind == "raised":
                raise value
            try:
                answer = yield value
            except Exception as error:
                channel.answers.put(("error", error))
            else:
                channel.answers.put(("answer", answer))
    finally:
        channel.answers.put(("error", _Abandoned()))
        thread.join(timeout=10)


def _call(function: Callable, communication: Communication, channel: _Channel) -> None:
    try:
        channel.steps.put(("returned", function(communication)))
    except _Abandoned:
        pass
    except BaseException as error:
        channel.steps.put(("raised", error))
