"""Times that are known: LogGOPSim's golden values, and small programs computed by hand."""

import pytest

from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterLevel, ClusterNetwork
from deep500.cluster.patterns import dissemination, ring
from deep500.cluster.reference import ReferenceEngine
from deep500.cluster.schedule import CALC, RECV, SEND, Operation, schedule_of

from .programs import binomial_reduce

LATENCY, OVERHEAD, PAUSE, BYTE = 2500, 1500, 1000, 6  # L, o, g, G


def compiled(schedule, network=None, disturbances=None):
    outcome = simulate_schedule(schedule, network or ClusterNetwork(), disturbances)
    return outcome.nanoseconds.tolist()


def reference(schedule, network=None, disturbances=None):
    engine = ReferenceEngine(schedule, network or ClusterNetwork(), disturbances)
    return engine.run().nanoseconds.tolist()


@pytest.fixture(params=[compiled, reference], ids=["compiled", "reference"])
def times(request):
    return request.param


def test_dissemination(times):
    assert times(dissemination(16)) == [22000] * 16


def test_binomial_reduce(times):
    expected = [34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500]
    assert times(binomial_reduce()) == expected


def test_rendezvous(times):
    # the sender may go on when its receiver, who has computed until then, begins to take the message
    size, work = 65536, 100_000
    sender = [Operation(SEND, size, 1), Operation(CALC, 10, after=[0])]
    receiver = [Operation(CALC, work), Operation(RECV, size, 0, after=[0])]
    taken = work + OVERHEAD + (size - 1) * BYTE
    assert times(schedule_of([sender, receiver])) == [work + 10, taken]
    # up to S bytes it goes on at once
    network = ClusterNetwork((ClusterLevel(S=size),))
    assert times(schedule_of([sender, receiver]), network) == [OVERHEAD + 10, taken]


def test_the_gap_between_messages(times):
    # G makes the second message wait for the card, which is busy for g + (s - 1) G
    sends = [Operation(SEND, 1001, 1), Operation(SEND, 1001, 1, after=[0])]
    receives = [Operation(RECV, 1001, 0), Operation(RECV, 1001, 0, after=[0])]
    begin = PAUSE + 1000 * BYTE
    first = OVERHEAD + LATENCY + OVERHEAD + 1000 * BYTE
    second = max(first, begin + OVERHEAD + LATENCY) + OVERHEAD + 1000 * BYTE
    assert times(schedule_of([sends, receives])) == [begin + OVERHEAD, second]


def test_overhead_per_byte(times):
    network = ClusterNetwork((ClusterLevel(O=2.0, G=1.0),))
    program = [[Operation(SEND, 101, 1)], [Operation(RECV, 101, 0)]]
    assert times(schedule_of(program), network) == [
        OVERHEAD + 200,
        OVERHEAD + LATENCY + OVERHEAD + 200,
    ]


def test_a_fraction_of_a_nanosecond_per_byte(times):
    network = ClusterNetwork((ClusterLevel(G=0.08),))
    program = [[Operation(SEND, 1001, 1)], [Operation(RECV, 1001, 0)]]
    assert times(schedule_of(program), network)[1] == OVERHEAD + LATENCY + OVERHEAD + 80


def test_levels(times):
    network = ClusterNetwork((ClusterLevel(2, 100, 10, 1, 0.0), ClusterLevel()))
    near = schedule_of([[Operation(SEND, 1, 1)], [Operation(RECV, 1, 0)], []])
    far = schedule_of([[], [Operation(SEND, 1, 2)], [Operation(RECV, 1, 1)]])
    assert times(near, network) == [10, 120, 0]
    assert times(far, network) == [0, OVERHEAD, 2 * OVERHEAD + LATENCY]


def test_work_on_two_processors(times):
    # what requires the work of another processor begins when that has ended
    program = [
        Operation(CALC, 1000),
        Operation(CALC, 500, cpu=1),
        Operation(CALC, 10, cpu=1, after=[0]),
        Operation(CALC, 10, cpu=1, behind=[0]),
    ]
    assert times(schedule_of([program])) == [1010]


def test_slow_ranks(times):
    schedule = schedule_of([[Operation(CALC, 1000)], [Operation(CALC, 1000)]])
    assert times(schedule, None, Disturbances(speed={1: 2.5})) == [1000, 2500]


def test_a_ring_costs_in_proportion_to_its_rounds():
    one = compiled(ring(8, 1, 10))[0]
    ten = compiled(ring(8, 1, 100))[0]
    assert ten == 10 * one == 100 * (2 * OVERHEAD + LATENCY)
