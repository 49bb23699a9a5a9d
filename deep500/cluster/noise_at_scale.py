"""Two findings of Hoefler, Schneider and Lumsdaine (SC'10) as code: what noise does to collectives at scale."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from ..contracts.noise import Noise
from .disturbances import Disturbances
from .engine import simulate_schedule
from .network import ClusterNetwork
from .patterns import dissemination


@dataclass(frozen=True)
class BarrierTimes:
    """A barrier of so many ranks, in nanoseconds: without noise, and with it by seed."""

    ranks: int
    quiet: int
    noisy: tuple[int, ...]

    @property
    def slowdown(self) -> float:
        return median(self.noisy) / self.quiet


def barrier_times(
    ranks: int, network: ClusterNetwork, noise: Noise, seeds: Sequence[int]
) -> BarrierTimes:
    """A dissemination barrier, for every seed of the noise."""
    schedule = dissemination(ranks)
    disturbances = Disturbances(noise)
    noisy = [
        simulate_schedule(schedule, network, disturbances, seed).makespan
        for seed in seeds
    ]
    quiet = simulate_schedule(schedule, network).makespan
    return BarrierTimes(ranks, quiet, tuple(noisy))


def faster(network: ClusterNetwork, factor: float) -> ClusterNetwork:
    """The same network, so many times faster in all of its parameters."""
    levels = []
    for level in network.levels:
        whole = {name: round(getattr(level, name) / factor) for name in ("L", "o", "g")}
        levels.append(replace(level, **whole, G=level.G / factor, O=level.O / factor))
    return replace(network, levels=tuple(levels))


def noise_grows_with_scale(times: Sequence[BarrierTimes]) -> bool:
    """The claim: the more ranks, the more slower a barrier is with noise than without."""
    slowdowns = [one.slowdown for one in times]
    return slowdowns == sorted(slowdowns) and slowdowns[-1] > slowdowns[0]


def network_does_not_help(
    slow: BarrierTimes, fast: BarrierTimes, share: float = 0.5
) -> bool:
    """The claim: with noise, a faster network wins less than `share` of what it wins without."""
    without = slow.quiet / fast.quiet
    with_noise = median(slow.noisy) / median(fast.noisy)
    return with_noise < share * without
