"""The critical path is as long as the simulation, without gaps, and says what the time was spent on."""

from collections import Counter
from itertools import pairwise

import pytest

from deep500.cluster.critical_path import critical_path
from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterNetwork
from deep500.cluster.patterns import dissemination
from deep500.cluster.schedule import CALC, RECV, SEND, Operation, schedule_of
from deep500.noises.random_detours import RandomDetours

from .programs import binomial_reduce, random_schedule
from .test_engines import NETWORKS


def path_of(schedule, network=None, disturbances=None, seed=0):
    network = network or ClusterNetwork()
    disturbances = disturbances or Disturbances()
    outcome = simulate_schedule(schedule, network, disturbances, seed, record=True)
    speeds = disturbances.speeds(schedule.size, seed)
    return outcome, critical_path(schedule, network, outcome, speeds)


def totals(path):
    spent: Counter[str] = Counter()
    for stretch in path:
        spent[stretch.activity] += stretch.end - stretch.begin
    return dict(spent)


def test_of_a_dissemination():
    _, path = path_of(dissemination(16))
    assert totals(path) == {"overhead": 4 * 3000, "latency": 4 * 2500}


def test_of_a_reduction():
    outcome, path = path_of(binomial_reduce())
    assert totals(path) == {
        "overhead": 3 * 3000,
        "latency": 3 * 2500,
        "bytes": 3 * 1023 * 6,
    }
    assert path[0].rank in (4, 5, 6, 7)
    assert path[-1].end == outcome.makespan


def test_of_work_on_a_slow_rank():
    programs = [
        [Operation(CALC, 1000), Operation(SEND, 1, 1, after=[0])],
        [Operation(CALC, 10), Operation(RECV, 1, 0)],
    ]
    _, path = path_of(schedule_of(programs), None, Disturbances(speed={0: 3.0}))
    assert totals(path) == {"work": 3000, "overhead": 3000, "latency": 2500}
    assert [stretch.rank for stretch in path] == [0, 0, 0, 1]


def test_of_cards_that_pause():
    sends = [Operation(SEND, 1001, 1), Operation(SEND, 1001, 2, after=[0])]
    receive = [Operation(RECV, 1001, 0)]
    _, path = path_of(schedule_of([sends, receive, receive]))
    expected = {"gap": 7000, "overhead": 3000, "latency": 2500, "bytes": 6000}
    assert totals(path) == expected


@pytest.mark.parametrize("network", NETWORKS)
def test_it_is_as_long_as_the_simulation(network):
    noise = RandomDetours(every=2e-5, lasting=4e-6)
    for seed in range(40):
        schedule = random_schedule(seed, 1 + seed % 2)
        disturbances = Disturbances(noise if seed % 3 else None, {0: 1.5})
        outcome, path = path_of(schedule, NETWORKS[network], disturbances, seed)
        last = max(outcome.intervals["end"], default=0)
        assert sum(one.end - one.begin for one in path) == last
        assert all(a.end == b.begin for a, b in pairwise(path))


def test_a_message_in_a_rendezvous_waits_for_its_receive():
    size = 10**6
    programs = [
        [Operation(SEND, size, 1), Operation(CALC, 5, after=[0])],
        [Operation(CALC, 50_000), Operation(RECV, size, 0, after=[0])],
    ]
    outcome, path = path_of(schedule_of(programs))
    spent = totals(path)
    assert spent["work"] == 50_000
    assert spent["bytes"] == (size - 1) * 6
    assert sum(spent.values()) == outcome.makespan
