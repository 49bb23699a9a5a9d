"""The findings of SC'10 hold at small scale, and their claims fail where they should."""

from deep500.cluster.network import ClusterNetwork
from deep500.cluster.noise_at_scale import (
    BarrierTimes,
    barrier_times,
    faster,
    network_does_not_help,
    noise_grows_with_scale,
)
from deep500.noises.random_detours import RandomDetours

NOISE = RandomDetours(every=5e-3, lasting=2e-4, tail=0)
SEEDS = range(5)


def test_noise_makes_barriers_slower_at_scale():
    network = ClusterNetwork()
    times = [barrier_times(ranks, network, NOISE, SEEDS) for ranks in (4, 64, 1024)]
    assert noise_grows_with_scale(times)
    assert times[-1].slowdown > 3
    tiny = RandomDetours(every=10.0, lasting=1e-6, tail=0)
    quiet = [barrier_times(ranks, network, tiny, SEEDS) for ranks in (4, 64)]
    assert not noise_grows_with_scale(quiet)


def test_a_faster_network_does_not_help():
    network = ClusterNetwork()
    slow = barrier_times(1024, network, NOISE, SEEDS)
    fast = barrier_times(1024, faster(network, 10), NOISE, SEEDS)
    assert slow.quiet == 10 * fast.quiet
    assert network_does_not_help(slow, fast)
    quiet, fast_quiet = (BarrierTimes(8, time, (time,)) for time in (1000, 100))
    assert not network_does_not_help(quiet, fast_quiet)
