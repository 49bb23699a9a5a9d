"""Stale-synchronous allreduce: gradients are averaged while later steps are already being computed."""

from typing import Any

import numpy as np

from ..contracts.scheme import (
    Buffers,
    Scheme,
    Worker,
    backprop,
    update,
    weighted_gradients,
)
from ..contracts.transport import AllReduce, Handle, Program, Wait
from ..errors import Deep500Error
from ._averaging import copies

PENDING = "pending gradient"


class StaleAllReduce(Scheme):
    """Every update uses the average gradient of the step `staleness` steps ago; 0 is plain allreduce.

    All replicas stay equal. The first `staleness` steps update nothing. At the end of an epoch all reductions are
    complete; gradients that are not used yet are applied by the first steps of the next epoch.
    """

    staleness: int = 1

    def check(self, size: int) -> None:
        if self.staleness < 0:
            raise Deep500Error(
                f"a staleness of {self.staleness} is impossible: give 0 or more"
            )

    def epoch(self, worker: Worker) -> Program:
        queue = _Queue(worker)
        for _ in worker.batches():
            yield from backprop(worker)
            gradients = copies(weighted_gradients(worker))
            yield from queue.begin(gradients)
            if len(queue) <= self.staleness:
                worker.skip_update()
                continue
            yield from self._apply_oldest(worker, queue)
        yield from queue.finish()

    def _apply_oldest(self, worker: Worker, queue: "_Queue") -> Program:
        gradients = yield from queue.take_oldest()
        worker.record("staleness", len(queue))
        worker.set_gradients(gradients)
        yield from update(worker)


class _Queue:
    """Gradients whose reduction has begun, oldest first; they outlive an epoch in the worker's state."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.entries: list[tuple[Buffers, list[Handle]]] = []
        for gradients in _stored(worker.state):
            self.entries.append((gradients, []))

    def __len__(self) -> int:
        return len(self.entries)

    def begin(self, gradients: Buffers) -> Program:
        """Begin to reduce the gradients of a step."""
        handles = []
        for buffer in gradients.values():
            handle = yield AllReduce(buffer)
            handles.append(handle)
        self.entries.append((gradients, handles))

    def take_oldest(self) -> Program:
        """Wait for the oldest gradients and remove them."""
        gradients, handles = self.entries.pop(0)
        yield Wait(handles)
        return gradients

    def finish(self) -> Program:
        """Wait for all reductions, and store what was not used."""
        for _, handles in self.entries:
            yield Wait(handles)
        state = self.worker.state
        for name in [name for name in state if name.startswith(PENDING)]:
            del state[name]
        for place, (gradients, _) in enumerate(self.entries):
            for dtype, buffer in gradients.items():
                state[f"{PENDING} {place} {dtype}"] = buffer


def _stored(state: dict[str, Any]) -> list[Buffers]:
    """The gradients that the last epoch left, oldest first."""
    by_place: dict[int, Buffers] = {}
    for name, buffer in state.items():
        if name.startswith(PENDING):
            place, dtype = name.removeprefix(f"{PENDING} ").split(" ")
            by_place.setdefault(int(place), {})[dtype] = np.array(buffer)
    return [by_place[place] for place in sorted(by_place)]
