"""How many bytes the programs of ranks allocate."""

import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ...contracts.transport import Program


class AllocatedBuffers:
    """What the program of one rank has allocated, and not freed."""

    def __init__(self) -> None:
        self.held = 0
        self.peak = 0
        self._is_running = False
        self._watched: set[int] = set()

    def follow(self, program: Program) -> Program:
        """The program, whose own steps count."""
        answer = None
        while True:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            self._is_running = True
            try:
                step = program.send(answer)
            except StopIteration as stop:
                return stop.value
            finally:
                self._is_running = False
                after, peak = tracemalloc.get_traced_memory()
                self.peak = max(self.peak, self.held + peak - before)
                self.held += after - before
            self._watch(step)
            answer = yield step

    def _watch(self, step: Any) -> None:
        """A transport may be the last that keeps an array: then it is freed between two steps of the program."""
        array = getattr(step, "array", getattr(step, "into", None))
        if not isinstance(array, np.ndarray):
            return
        while isinstance(array.base, np.ndarray):
            array = array.base
        if id(array) not in self._watched:
            self._watched.add(id(array))
            weakref.finalize(array, self._freed, id(array), array.nbytes)

    def _freed(self, number: int, nbytes: int) -> None:
        self._watched.discard(number)
        if not self._is_running:
            self.held -= nbytes


def most_allocated(run: Callable[[Callable[[int, Program], Program]], None]) -> int:
    """The most bytes that one rank's program has allocated at any time; `run` is given what watches a program."""
    allocations: dict[int, AllocatedBuffers] = {}

    def watched(rank: int, program: Program) -> Program:
        allocations[rank] = AllocatedBuffers()
        return allocations[rank].follow(program)

    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        run(watched)
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return max(each.peak for each in allocations.values())
