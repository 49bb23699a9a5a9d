"""All ranks in this process: deterministic, with real arrays, under a LogGP clock."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..contracts.loggp import LogGP
from ..contracts.transport import DEADLINE, Program, Traffic, Transport
from ..errors import Deep500Error
from ._event_engine import EventEngine

MOST_RANKS = 1 << 16


class Virtual(Transport):
    """Runs the programs of all ranks as events in the order of virtual time; ties go to the lower rank.

    compute   Seconds of virtual time for a Compute step that does not say what it costs.
    speed     How many times longer a rank computes than it should, by rank; the others 1.
    kill      Ranks that die, and at which of their communication steps (counted from 0).

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
        speed: Mapping[int, float] | Sequence[float] = (),
        kill: Mapping[int, int] | None = None,
    ):
        if not 1 <= size <= MOST_RANKS:
            raise Deep500Error(
                f"{size} virtual ranks cannot be run: give 1 to {MOST_RANKS}"
            )
        self.size = size
        self.ranks = tuple(range(size))
        self.network = network or LogGP()
        self.deadline = deadline
        self.compute = compute
        factors = (
            dict(speed)
            if isinstance(speed, Mapping)
            else dict(enumerate(speed))
        )
        self.speed = {rank: factors.get(rank, 1.0) for rank in self.ranks}
        self.kill = dict(kill or {})
        self.traffic = {rank: Traffic() for rank in self.ranks}
        self.waited = dict.fromkeys(self.ranks, 0.0)
        self.clocks = dict.fromkeys(self.ranks, 0.0)
        self.steps = dict.fromkeys(self.ranks, 0)  # communication steps done

    @property
    def seconds(self) -> float:
        """The virtual time at which the last rank is done."""
        return max(self.clocks.values())

    def clock(self, rank: int) -> float:
        return self.clocks[rank]

    def run(self, program: Callable[[int], Program]) -> dict[int, Any]:
        engine = EventEngine(self, {rank: program(rank) for rank in self.ranks})
        try:
            return engine.run()
        finally:
            engine.close()
