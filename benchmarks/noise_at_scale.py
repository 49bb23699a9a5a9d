"""Noise at scale, after SC'10: it makes barriers slower with more ranks, and a network 10 times faster does not help.

    .venv/bin/python benchmarks/noise_at_scale.py

Exit code 1 if one of the two claims does not hold.
"""

import sys

from deep500.cluster.network import ClusterNetwork
from deep500.cluster.noise_at_scale import (
    BarrierTimes,
    barrier_times,
    faster,
    network_does_not_help,
    noise_grows_with_scale,
)
from deep500.noises.random_detours import RandomDetours

RANKS = [64, 512, 4096, 32768, 262144]
SEEDS = range(7)
NOISE = RandomDetours(every=1e-1, lasting=1e-3, tail=0)  # 10 Hz, 1 ms: 1 % of the time


def main() -> int:
    network = ClusterNetwork()
    fast_network = faster(network, 10)
    print(f"{NOISE}: {NOISE.detours().share:.2%} of the time")
    rows = [(count, *pair(count, network, fast_network)) for count in RANKS]
    for count, slow, fast in rows:
        print(
            f"{count:7} ranks: {slow.slowdown:6.2f} times slower with noise; on a network that is 10 times faster "
            f"{fast.slowdown:6.2f} times"
        )
    grows = noise_grows_with_scale([slow for _, slow, _ in rows])
    _, slow, fast = rows[-1]
    no_help = network_does_not_help(slow, fast)
    print(f"noise makes collectives slower at scale: {grows}")
    print(f"a network that is 10 times faster does not help: {no_help}")
    return 0 if grows and no_help else 1


def pair(
    ranks: int, network: ClusterNetwork, fast: ClusterNetwork
) -> tuple[BarrierTimes, BarrierTimes]:
    return (
        barrier_times(ranks, network, NOISE, SEEDS),
        barrier_times(ranks, fast, NOISE, SEEDS),
    )


if __name__ == "__main__":
    sys.exit(main())
