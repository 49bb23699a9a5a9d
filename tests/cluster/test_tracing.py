"""Collectives as schedules: the same messages as on virtual ranks, and where both models agree, the same time."""

import numpy as np
import pytest

from deep500.bench.collectives.arrays import operation_program, source
from deep500.bench.simulated.subjects import CollectiveChoice, collective_subject
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterLevel, ClusterNetwork
from deep500.cluster.schedule import CALC, SEND, kinds, sizes
from deep500.collectives.ring import Ring
from deep500.contracts.loggp import LogGP
from deep500.definition_text import definition_of
from deep500.errors import Deep500Error
from deep500.transports.virtual import Virtual

EAGER = ClusterNetwork((ClusterLevel(S=2**40),))
ALGORITHMS = ["Ring()", "Rabenseifner()", "RecursiveDoubling()", "BinomialTree()"]


def virtual_run(text, ranks, count, operation="all_reduce"):
    collective = definition_of(text, "collectives")
    virtual = Virtual(ranks, LogGP(L=2.5e-6, o=1.5e-6, g=1e-6, G=6e-9))
    arrays = [source(rank, count, "float32") for rank in range(ranks)]
    virtual.run(
        lambda rank: operation_program(collective, operation, rank, ranks, arrays[rank])
    )
    return virtual


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8, 16])
@pytest.mark.parametrize("text", [*ALGORITHMS, "Hierarchical()", "FlatServer()"])
def test_the_messages_are_those_of_virtual_ranks(text, ranks):
    choice = CollectiveChoice(text, ranks, 4 * 37)
    schedule = collective_subject(choice, EAGER).schedule
    virtual = virtual_run(text, ranks, 37)
    for rank in range(ranks):
        own = schedule.of_rank(rank)
        sent = own[kinds(own) == SEND]
        traffic = virtual.traffic[rank]
        assert len(sent) == traffic.messages.get("Send", 0)
        assert sizes(sent).sum() == traffic.bytes.get("Send", 0)
    assert simulate_schedule(schedule, EAGER).blocked is None


@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
@pytest.mark.parametrize("text", ["Ring()", "RecursiveDoubling()"])
def test_where_no_rank_is_busy_both_clocks_agree(text, ranks):
    count = 64 * ranks
    choice = CollectiveChoice(text, ranks, 4 * count)
    schedule = collective_subject(choice, EAGER).schedule
    outcome = simulate_schedule(schedule, EAGER)
    seconds = virtual_run(text, ranks, count).seconds
    assert outcome.makespan == round(seconds * 1e9)


@pytest.mark.parametrize("operation", ["all_reduce", "reduce_scatter", "all_gather"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_what_rotates_is_what_every_rank_does(ranks, operation, monkeypatch):
    network = ClusterNetwork(EAGER.levels, element=2.0, exchange=30.0, call=500.0)
    choice = CollectiveChoice("Ring()", ranks, 4 * 5 * ranks, operation)
    short = collective_subject(choice, network).schedule
    monkeypatch.setattr(Ring, "rotates", lambda *_: False)
    full = collective_subject(choice, network).schedule
    for rank in range(ranks):
        assert list(short.operations(rank)) == list(full.operations(rank))


def test_every_operation_can_be_traced():
    for text, operation in [
        ("Ring()", "reduce_scatter"),
        ("Bruck()", "all_gather"),
        ("BinomialTree()", "broadcast"),
        ("Direct()", "all_to_all"),
        ("Native()", "all_reduce"),
    ]:
        choice = CollectiveChoice(text, 6, 240, operation)
        schedule = collective_subject(choice, EAGER).schedule
        assert simulate_schedule(schedule, EAGER).blocked is None
        assert schedule.messages > 0


def test_combining_takes_the_time_of_a_fitted_network():
    network = ClusterNetwork(EAGER.levels, element=2.0, byte=1.0, call=500.0)
    choice = CollectiveChoice("RecursiveDoubling()", 4, 400)
    plain = simulate_schedule(collective_subject(choice, EAGER).schedule, EAGER)
    schedule = collective_subject(choice, network).schedule
    costly = simulate_schedule(schedule, network)
    # two rounds in which 100 elements of 4 bytes are combined
    assert costly.makespan == plain.makespan + 500 + 2 * (200 + 400)
    assert (kinds(schedule.nodes) == CALC).sum() == 4 * 3


def test_large_arrays_cost_no_memory():
    choice = CollectiveChoice("RecursiveDoubling()", 64, 2**30)
    schedule = collective_subject(choice, EAGER).schedule
    assert int(sizes(schedule.nodes).max()) == 2**30


@pytest.mark.parametrize(
    "choice, expected",
    [
        (CollectiveChoice("Ring()", 0), "--ranks 0"),
        (CollectiveChoice("Ring()", 4, 6), "no whole number of elements"),
        (CollectiveChoice("Ring()", 4, 8, "broadcast"), "has no broadcast"),
        (CollectiveChoice("Ring()", 4, 8, "brodcast"), "broadcast"),
        (CollectiveChoice("SparCML()", 4, 8, "sparse_all_reduce"), "without its data"),
        # their memory is not even set: what they sent was drawn by chance
        (CollectiveChoice("SparCML()", 4, 8), "without its data"),
        (CollectiveChoice("SSARRecursiveDoubling()", 4, 8), "without its data"),
        (CollectiveChoice("Hierarchical(across=SparCML())", 4, 8), "without its data"),
        (CollectiveChoice("RecursiveDoubling()", 2**26, 4), "GiB of memory"),
    ],
)
def test_what_cannot_be_simulated(choice, expected):
    with pytest.raises(Deep500Error, match=expected):
        collective_subject(choice, EAGER)


def test_fitted_knots_are_the_stream_of_the_fitted_network():
    from deep500.cluster.network import cluster_network
    from deep500.contracts.fitted_loggp import FittedLogGP

    fitted = FittedLogGP(
        L=1e-6, o=1e-7, g=1e-7, knots=(0, 1024, 65536), gaps=(1e-9, 3e-10, 2e-10)
    )
    [level] = cluster_network(fitted).levels
    for nbytes in (0, 1, 8, 1024, 5000, 65536, 10**6):
        assert level.stream(nbytes) == pytest.approx(fitted.stream(nbytes) * 1e9, abs=1)
    assert np.isclose(level.L, 1000)


def test_a_program_that_looks_at_its_data_is_refused(tmp_path):
    """No data are simulated: what memory holds decides nothing."""
    file = tmp_path / "peeks.py"
    file.write_text(
        "from deep500.collectives import Ring\n"
        "class Peeks(Ring):\n"
        "    def all_reduce(self, rank, size, array, op='sum'):\n"
        "        if array[0] > 0:\n"
        "            yield from super().all_reduce(rank, size, array, op)\n"
    )
    choice = CollectiveChoice(f"{file}:Peeks()", 4, 8)
    with pytest.raises(Deep500Error, match="reads an element of its array"):
        collective_subject(choice, EAGER)
