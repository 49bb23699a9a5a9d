"""All ranks in this process: deterministic, with real arrays, under a LogGP clock."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..contracts.loggp import LogGP
from ..contracts.transport import DEADLINE, Program, Traffic, Transport
from ..errors import Deep500Error
from ._event_engine import EventEngine

MOST_RANKS = 1 << 16


class Virtual(Transport):
    """Runs the programs of all ranks as events in the order of virtual time; ties go to the lower rank.

    compute   Seconds of virtual time for a Compute step that does not say what it costs, and does no training.
    example   Seconds of backprop for one example of a rank's part of the batch.
    update    Seconds of one update by the optimizer.
    speed     How many times longer a rank computes than it should, by rank; the others 1.
    kill      Ranks that die, and at which of their communication steps (counted from 0).
    eager_bytes   A message of more bytes is sent only when its receiver has begun to receive it, as MPI does with
                  long ones (rendezvous).

    A wait without a timeout of its own has no deadline in virtual time: what can never end is found, and named, when
    nothing else is left to do.
    """

    name = "virtual"

    def __init__(
        self,
        size: int,
        network: LogGP | None = None,
        *,
        deadline: float = DEADLINE,
        compute: float = 0.0,
        example: float = 0.0,
        update: float = 0.0,
        speed: Mapping[int, float] | Sequence[float] = (),
        kill: Mapping[int, int] | None = None,
        eager_bytes: float = math.inf,
    ):
        if not isinstance(size, int) or not 1 <= size <= MOST_RANKS:
            raise Deep500Error(
                f"{size!r} virtual ranks cannot be run: ranks is a whole number from 1 to {MOST_RANKS}"
            )
        if network is not None and not isinstance(network, LogGP):
            raise Deep500Error(
                f"{network!r} is no model of a network: give one with its seconds, as in "
                "d5.LogGP(L=2e-6, o=1e-6, g=1e-6, G=1e-10)"
            )
        self.size = size
        self.ranks = tuple(range(size))
        self.network = (network or LogGP()).among(size)
        self.deadline = deadline
        self.compute = _seconds("compute", compute)
        self.example = _seconds("example", example)
        self.update = _seconds("update", update)
        self.speed = _factors(speed, size)
        self.kill = _steps_of_death(kill or {}, size)
        self.eager_bytes = eager_bytes
        self.traffic = {rank: Traffic() for rank in self.ranks}
        self.waited = dict.fromkeys(self.ranks, 0.0)
        self.clocks = dict.fromkeys(self.ranks, 0.0)
        self.steps = dict.fromkeys(self.ranks, 0)  # communication steps done
        # ranks that have trained since the engine looked last
        self.charged: set[int] = set()

    @property
    def seconds(self) -> float:
        """The virtual time at which the last rank is done."""
        return max(self.clocks.values())

    def clock(self, rank: int) -> float:
        return self.clocks[rank]

    def charge(self, rank: int, examples: int = 0, updates: int = 0) -> None:
        seconds = examples * self.example + updates * self.update
        self.clocks[rank] += seconds * self.speed[rank]
        self.charged.add(rank)

    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        engine = EventEngine(self, {rank: program(rank) for rank in self.ranks})
        try:
            return engine.run()
        finally:
            engine.close()


def _seconds(name: str, value: float) -> float:
    """A duration that a user gave."""
    if not _is_number(value) or value < 0:
        raise Deep500Error(f"{name}={value!r} is no duration: give seconds, 0 or more")
    return value


def _factors(
    speed: Mapping[int, float] | Sequence[float], size: int
) -> dict[int, float]:
    """How many times longer every rank computes."""
    if isinstance(speed, Mapping):
        factors = dict(speed)
    elif isinstance(speed, Sequence):
        factors = dict(enumerate(speed))
    else:
        raise Deep500Error(
            f"speed={speed!r} says nothing about ranks: give factors by rank, as in {{3: 2.0}}"
        )
    _check_ranks("speed", factors, size)
    for rank, factor in factors.items():
        if not _is_number(factor) or factor <= 0:
            raise Deep500Error(
                f"speed of rank {rank} is {factor!r}: give how many times longer it computes, more than 0"
            )
    return {rank: factors.get(rank, 1.0) for rank in range(size)}


def _steps_of_death(kill: Mapping[int, int], size: int) -> dict[int, int]:
    """The communication step at which ranks die."""
    if not isinstance(kill, Mapping):
        raise Deep500Error(
            f"kill={kill!r} names no ranks: give the step at which each dies, as in {{3: 10}}"
        )
    _check_ranks("kill", kill, size)
    for rank, step in kill.items():
        if not isinstance(step, int) or step < 0:
            raise Deep500Error(
                f"kill of rank {rank} is {step!r}: give the number of its communication step, from 0"
            )
    return dict(kill)


def _check_ranks(name: str, by_rank: Mapping[int, object], size: int) -> None:
    unknown = [rank for rank in by_rank if rank not in range(size)]
    if unknown:
        ranks = ", ".join(map(repr, unknown))
        raise Deep500Error(
            f"{name} names rank {ranks}, and there are {size} ranks: give ranks from 0 to {size - 1}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
