"""What a collective costs under LogGP: what a rank sends and keeps, and the longest chain of messages."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..errors import Deep500Error
from .loggp import LogGP

# how many, of how many bytes each
Rounds = tuple[float, float]
# how many, of how many bytes each, and how many messages the processor handles for each
Spacing = tuple[float, float, int]


@dataclass(frozen=True)
class CollectiveCost:
    """The cost of one operation of a collective, for m elements of γ bytes on P ranks.

    messages   That the rank that sends most messages sends.
    bytes      That the rank that sends most bytes sends.
    memory     Bytes of buffers beside the array, on the rank that needs most.

    The rest describes the longest chain of what must happen in turn, from which the seconds follow.

    rounds     Messages of which each begins when the one before it is there: L + 2 o + G (bytes - 1).
    spacings   Messages that a rank sends or receives one behind another: the larger of o and g + G (bytes - 1).
    streamed   Bytes that take G and nothing else.
    handled    Messages that wait for the processor, which takes o, and for nothing else.
    reduced    Bytes that are combined with received ones. LogGP gives them no time, and real ranks need some.
    exchanges  Messages among the rounds and spacings in which every rank sends and receives at once, and
    exchanged  their bytes. LogGP has both directions in the time of one; processors that copy have not.
    """

    messages: int = 0
    bytes: float = 0
    memory: float = 0
    rounds: tuple[Rounds, ...] = ()
    spacings: tuple[Spacing, ...] = ()
    streamed: float = 0
    handled: float = 0
    reduced: float = 0
    exchanges: float = 0
    exchanged: float = 0

    def seconds(self, network: LogGP, per_reduced_byte: float = 0.0) -> float:
        """The time on a network; exact on virtual ranks where docs/collectives.md says so, and else not less."""
        seconds = self.streamed * network.G + self.handled * network.o
        seconds += self.reduced * per_reduced_byte
        for count, nbytes in self.rounds:
            seconds += count * (network.L + 2 * network.o + network.stream(nbytes))
        for count, nbytes, messages in self.spacings:
            spacing = network.g + network.stream(nbytes)
            seconds += count * max(messages * network.o, spacing)
        return seconds

    @property
    def coefficients(self) -> dict[str, float]:
        """How often L, o, g and G count in the seconds where the wire sets the spacings, and the reduced bytes."""
        counts = {"L": 0.0, "o": self.handled, "g": 0.0, "G": self.streamed}
        for count, nbytes in self.rounds:
            counts["L"] += count
            counts["o"] += 2 * count
            counts["G"] += count * max(0, nbytes - 1)
        for count, nbytes, _ in self.spacings:
            counts["g"] += count
            counts["G"] += count * max(0, nbytes - 1)
        return {**counts, "reduced": self.reduced}

    def then(self, other: "CollectiveCost") -> "CollectiveCost":
        """This and the other behind it, on the same ranks; buffers are used again."""
        values: dict[str, Any] = {}
        for field in fields(self):
            mine, others = getattr(self, field.name), getattr(other, field.name)
            values[field.name] = mine + others
        values["memory"] = max(self.memory, other.memory)
        return CollectiveCost(**values)


def lower_bound(
    operation: str, size: int, nbytes: float, network: LogGP
) -> dict[str, float]:
    """What no algorithm can beat on ranks with one port each: seconds, and bytes that some rank has to send.

    The first byte has to reach every rank from some rank, which takes `reach`; and each port passes its bytes one after
    another. The longer of both is the bound, which holds for g ≥ G.
    """
    shares = {
        "all_reduce": 2 * (size - 1) / size,
        "reduce_scatter": (size - 1) / size,
        "all_gather": (size - 1) / size,
        "all_to_all": (size - 1) / size,
        "broadcast": 1.0,
        "neighbor_all_gather": 1.0,
        # without an entry, nothing need be sent
        "sparse_all_reduce": 0.0,
    }
    if size == 1 or not nbytes:
        return {"seconds": 0.0, "bytes": 0.0}
    sent = shares[operation] * nbytes
    message = network.L + 2 * network.o
    is_local = operation in ("all_to_all", "neighbor_all_gather")
    latency = message if is_local else reach(size, network)
    bandwidth = message + max(0.0, sent - 1) * network.G
    return {"seconds": max(latency, bandwidth), "bytes": sent}


def reach(size: int, network: LogGP) -> float:
    """The seconds in which one byte gets from a rank to all: whoever has it sends it to another (Karp et al., 1993)."""
    message = network.L + 2 * network.o
    spacing = max(network.o, network.g)
    # when ranks that have the byte are free to send it
    free = [0.0]
    last = 0.0
    for _ in range(size - 1):
        begin = heapq.heappop(free)
        last = begin + message
        heapq.heappush(free, begin + spacing)
        heapq.heappush(free, last)
    return last


def piece_lengths(count: int, pieces: int) -> list[int]:
    """The lengths into which `numpy.array_split` cuts an array: the first ones are longer by one."""
    length, longer = divmod(count, pieces)
    return [length + 1] * longer + [length] * (pieces - longer)


def piece_starts(count: int, pieces: int) -> list[int]:
    """Where the pieces begin, and where the last one ends."""
    starts = [0]
    for length in piece_lengths(count, pieces):
        starts.append(starts[-1] + length)
    return starts


def rounds_to_all(size: int) -> int:
    """ceil(log2 P): the rounds in which the number of ranks that know doubles."""
    return math.ceil(math.log2(size))


def most(values: Sequence[float]) -> float:
    return max(values, default=0)


def check_request(size: int, count: int, gamma: float) -> None:
    """Refuse sizes that no collective can have."""
    if not isinstance(size, int) or size < 1:
        raise Deep500Error(f"{size!r} ranks: give a whole number from 1 up")
    if not isinstance(count, int) or count < 0:
        raise Deep500Error(f"{count!r} elements: give a whole number from 0 up")
    if not (math.isfinite(gamma) and gamma > 0):
        raise Deep500Error(f"{gamma!r} bytes per element: give a number above 0")
