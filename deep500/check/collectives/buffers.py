"""How many bytes the programs of ranks allocate."""

import tracemalloc
from collections.abc import Callable

from ...contracts.transport import Program


def most_allocated(run: Callable[[Callable[[int, Program], Program]], None]) -> int:
    """The most bytes that one rank's program has allocated at any time; `run` is given what watches a program."""
    peaks: dict[int, int] = {}

    def watched(rank: int, program: Program) -> Program:
        answer, held = None, 0
        peaks[rank] = 0
        while True:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            try:
                step = program.send(answer)
            except StopIteration as stop:
                return stop.value
            finally:
                after, peak = tracemalloc.get_traced_memory()
                peaks[rank] = max(peaks[rank], held + peak - before)
                held += after - before
            answer = yield step

    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        run(watched)
    finally:
        if not was_tracing:
            tracemalloc.stop()
    return max(peaks.values())
