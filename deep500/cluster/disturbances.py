"""What keeps a cluster from running as it should: noise, slow ranks, and ranks that die. A seed says what is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..contracts.noise import Noise
from ..errors import Deep500Error

NANO = 10**9


@dataclass(frozen=True)
class Disturbances:
    """Noise, and what happens to single ranks.

    speed       How many times longer ranks compute than they should, by rank; the others 1.
    stragglers  The share of ranks that the seed draws, and how many times longer these compute.
    death       The nanosecond at which ranks die, by rank.
    """

    noise: Noise | None = None
    speed: Mapping[int, float] = field(default_factory=dict)
    stragglers: tuple[float, float] = (0.0, 1.0)
    death: Mapping[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        share, factor = self.stragglers
        if not 0 <= share <= 1:
            raise Deep500Error(
                f"stragglers are {share:g} of the ranks: give a share from 0 to 1"
            )
        for rank, value in [*self.speed.items(), ("stragglers", factor)]:
            if not 0 < value <= 1e6:
                raise Deep500Error(
                    f"speed of rank {rank} is {value:g}: give how many times longer it computes, from 0 to 1e6"
                )
        for rank, time in self.death.items():
            if time < 0:
                raise Deep500Error(
                    f"rank {rank} dies at {time} ns: give a time from 0 on"
                )

    @property
    def is_random(self) -> bool:
        """Whether another seed would give another time."""
        return self.noise is not None or self.stragglers[0] > 0

    def speeds(self, ranks: int, seed: int) -> np.ndarray | None:
        """The factor of every rank; None if all are 1."""
        share, factor = self.stragglers
        if not self.speed and not share:
            return None
        factors = np.ones(ranks)
        drawn = np.random.default_rng(seed).random(ranks) < share
        factors[drawn] = factor
        for rank, own in self.speed.items():
            factors[checked(rank, ranks, "speed")] = own
        return factors

    def deaths(self, ranks: int) -> np.ndarray | None:
        """When every rank dies, in nanoseconds, -1: never; None if nobody does."""
        if not self.death:
            return None
        times = np.full(ranks, -1, np.int64)
        for rank, time in self.death.items():
            times[checked(rank, ranks, "kill")] = time
        return times


def checked(rank: int, ranks: int, option: str) -> int:
    if not 0 <= rank < ranks:
        raise Deep500Error(
            f"{option} names rank {rank}, and there are {ranks} ranks: give ranks from 0 to {ranks - 1}"
        )
    return rank
