"""What a virtual rank has begun and not yet waited for."""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..contracts.transport import Handle, Wait, WaitAny


@dataclass(eq=False)
class PendingRequest:
    """One step that was begun: when its data are there (infinite: unknown yet), and its result."""

    step: Any
    posted: float
    ready: float = math.inf
    overhead: float = 0.0  # of the processor, when it is waited for
    result: Any = None
    sequence: int = 0  # of a collective

    @property
    def complete(self) -> bool:
        return self.ready < math.inf


@dataclass(eq=False)
class Message:
    """An array on its way; `sending` is complete when its sender may go on."""

    source: int
    to: int
    tag: int
    array: np.ndarray
    arrival: float
    sending: PendingRequest


@dataclass(eq=False)
class VirtualRank:
    """A program, its clock, and what it waits for."""

    rank: int
    program: Generator
    clock: float
    steps: int = 0
    # when the network card can send, and receive, the next message
    sending_free: float = 0.0
    receiving_free: float = 0.0
    requests: dict[Handle, PendingRequest] = field(default_factory=dict)
    next_handle: int = 0
    collectives: int = 0
    blocked: Wait | WaitAny | None = None
    block_number: int = 0
    running: bool = True
    result: Any = None

    def begin(self, request: PendingRequest) -> Handle:
        """Keep a request; its handle."""
        self.next_handle += 1
        self.requests[self.next_handle] = request
        return self.next_handle

    def unfinished(self, handles: Sequence[Handle]) -> list[PendingRequest]:
        """Those of the handles' requests that are not complete."""
        requests = [self.requests[handle] for handle in handles]
        return [request for request in requests if not request.complete]
