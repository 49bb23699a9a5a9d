"""The compiled engine and the one in Python give the same nanoseconds, for any program, network and noise."""

import numpy as np
import pytest

from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterLevel, ClusterNetwork
from deep500.cluster.patterns import dissemination
from deep500.cluster.reference import ReferenceEngine
from deep500.contracts.noise import Noise
from deep500.noises.periodic import Periodic
from deep500.noises.random_detours import RandomDetours

from .programs import binomial_reduce, random_schedule

NETWORKS = {
    "loggopsim": ClusterNetwork(),
    "fast": ClusterNetwork((ClusterLevel(0, 500, 100, 50, 0.08, 0.02, 4096),)),
    "levels": ClusterNetwork(
        (
            ClusterLevel(2, 300, 200, 100, 0.1),
            ClusterLevel(4, 900, 300, 100, 0.25, 0.5),
            ClusterLevel(),
        )
    ),
    "knots": ClusterNetwork(
        (ClusterLevel(0, 800, 90, 70, knots=(0, 1000, 65536), gaps=(2.0, 0.25, 0.13)),)
    ),
}
NOISES: dict[str, Noise | None] = {
    "none": None,
    "periodic": Periodic(every=2e-5, lasting=3e-6),
    "together": Periodic(every=1e-4, lasting=3e-6, together=True),
    "alike": RandomDetours(every=1e-5, lasting=2e-6, tail=0),
    "exponential": RandomDetours(every=1e-5, lasting=2e-6),
    "pareto": RandomDetours(every=3e-5, lasting=2e-6, tail=1.5),
}


def check_same(schedule, network, disturbances, seed):
    ours = simulate_schedule(schedule, network, disturbances, seed)
    reference = ReferenceEngine(schedule, network, disturbances, seed).run()
    assert ours.nanoseconds.tolist() == reference.nanoseconds.tolist()
    assert ours.spent.tolist() == reference.spent.tolist()
    assert ours.events == reference.events
    assert (ours.blocked is None) == (reference.blocked is None)
    if ours.blocked is not None:
        assert ours.blocked.reason.tolist() == reference.blocked.reason.tolist()
        assert ours.blocked.node.tolist() == reference.blocked.node.tolist()


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("network", NETWORKS)
def test_random_programs(network, noise):
    disturbances = Disturbances(NOISES[noise], {0: 1.7}, (0.3, 2.0))
    for seed in range(12):
        schedule = random_schedule(seed, 1 + seed % 3, wildcards=seed % 2 == 1)
        check_same(schedule, NETWORKS[network], disturbances, seed)


def test_deaths():
    for seed in range(40):
        schedule = random_schedule(seed)
        disturbances = Disturbances(death={0: 1000 * seed})
        check_same(schedule, ClusterNetwork(), disturbances, seed)


def test_queues_that_grow_long():
    # rank 0 takes 200 messages in another order than they come
    from deep500.cluster.schedule import RECV, SEND, Operation, schedule_of

    count = 200
    receives = [Operation(RECV, 8, 1, tag=count - 1 - i) for i in range(count)]
    sends = [Operation(SEND, 8, 0, tag=i) for i in range(count)]
    late = [receives[0], *(r._replace(after=[0]) for r in receives[1:])]
    for program in (receives, late):
        schedule = schedule_of([program, sends])
        check_same(schedule, ClusterNetwork(), Disturbances(), 0)


def test_the_same_seed_gives_the_same_time_and_another_one_does_not():
    schedule = dissemination(64)
    noise = Disturbances(RandomDetours(every=1e-5, lasting=5e-6))
    network = ClusterNetwork()
    times = [
        simulate_schedule(schedule, network, noise, seed).makespan
        for seed in (1, 1, 2, 3)
    ]
    assert times[0] == times[1]
    assert len(set(times)) == 3


def test_a_simulation_leaves_the_schedule_as_it_was():
    schedule = binomial_reduce()
    before = schedule.nodes.copy(), schedule.edges.copy()
    simulate_schedule(schedule, ClusterNetwork())
    assert np.array_equal(before[0], schedule.nodes)
    assert np.array_equal(before[1], schedule.edges)
