"""Staleness bounds, bytes by formula, consensus, resumption and lost ranks."""

from typing import ClassVar

import numpy as np
import pytest

from deep500 import schemes, topologies
from deep500.contracts.scheme import Scheme, Worker, backprop, update
from deep500.contracts.topology import Topology
from deep500.contracts.transport import Program, RankFailure
from deep500.distributed.consensus import warn_of_apart_replicas
from deep500.errors import Deep500Error, Deep500Warning
from deep500.schemes._partition import partition
from deep500.transports.virtual import Virtual
from tests.distributed.training import distributed

from .gradient_mixing import GradientMixing
from .runs import difference, params, trained

EVERY: list[Scheme] = [
    schemes.ParameterServer(),
    schemes.ParameterServer(staleness=1),
    schemes.ParameterServer(staleness=None, servers=2),
    schemes.HierarchicalParameterServer(),
    schemes.StaleAllReduce(staleness=2),
    schemes.LocalSGD(period=3),
    schemes.DPSGD(),
    schemes.PairwiseGossip(),
    schemes.PushSum(),
    schemes.ElasticAveraging(),
    schemes.AsyncElasticAveraging(period=2),
    schemes.Ensemble(),
    schemes.Hogwild(),
]


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_a_rank_gets_ahead_of_one_that_stands_still_by_exactly_the_bound(
    bound: int,
) -> None:
    """Rank 0 dies before its first gradient: the two others may each do `bound` + 1 steps, and no more."""
    transport = Virtual(4, kill={0: 2})
    run = distributed(
        schemes.ParameterServer(staleness=bound), 4, transport=transport, batch_size=6
    )
    with pytest.raises(RankFailure, match="rank 0"):
        run.run()
    assert len(run.replicas[3].series["staleness"]) == 2 * (bound + 1)


def test_without_a_bound_nobody_waits_for_one_that_stands_still() -> None:
    transport = Virtual(4, kill={0: 2})
    run = distributed(
        schemes.ParameterServer(staleness=None), 4, transport=transport, batch_size=6
    )
    with pytest.raises(RankFailure, match="rank 0"):
        run.run()
    steps = -(-101 // 6)
    assert len(run.replicas[3].series["staleness"]) == 2 * steps


def test_staleness_of_equal_ranks_is_that_of_the_others_updates() -> None:
    transport = Virtual(5, example=0.001)
    run = distributed(
        schemes.ParameterServer(staleness=None), 5, transport=transport, batch_size=8
    )
    history = run.run()
    staleness = history.series["staleness of rank 4"]
    assert np.mean(staleness) == pytest.approx(3, abs=0.3)  # 4 ranks train


def test_a_bound_holds_with_a_slow_rank() -> None:
    transport = Virtual(4, example=0.001, speed={0: 30.0})
    run = distributed(
        schemes.ParameterServer(staleness=2), 4, transport=transport, batch_size=6
    )
    bounded = run.run().series["staleness of rank 3"]
    free = Virtual(4, example=0.001, speed={0: 30.0})
    run = distributed(
        schemes.ParameterServer(staleness=None), 4, transport=free, batch_size=6
    )
    unbounded = run.run().series["staleness of rank 3"]
    assert max(bounded) <= 2 * (2 + 1) < max(unbounded)


def test_bytes_of_a_server_are_those_of_the_formula() -> None:
    """A rank sends a word and its gradient per step and a word at the end, and gets parameters each time."""
    run = distributed(schemes.ParameterServer(servers=2), 5)
    history = run.run()
    sizes = []
    for part in partition(run.executor.layout, 2):
        sizes.append(sum(4 * (span.stop - span.start) for span in part.values()))
    steps, epochs = 8, 2
    for rank in range(3):
        words = 2 * 8 * (steps + epochs)
        assert history.counters[f"bytes of rank {rank}"] == words + steps * sum(sizes)
    for number, size in enumerate(sizes):
        answers = 3 * (steps + epochs) * size
        assert history.counters[f"bytes of rank {3 + number}"] == answers


@pytest.mark.parametrize(
    ("topology", "degree"),
    [(topologies.Ring(), 2), (topologies.Complete(), 5), (topologies.Torus(), 3)],
)
def test_bytes_of_neighbours_are_those_of_the_formula(
    topology: Topology, degree: int
) -> None:
    run = distributed(schemes.DPSGD(topology=topology), 6)
    history = run.run()
    [size] = run.executor.layout.sizes.values()
    assert history.counters["bytes of rank 2"] == 8 * degree * 4 * size
    assert history.counters["messages of rank 2"] == 8 * degree


@pytest.mark.parametrize("scheme", EVERY, ids=str)
def test_what_is_sent_is_received(scheme: Scheme) -> None:
    transport = Virtual(4)
    trained(scheme, 4, transport=transport)
    traffic = transport.traffic.values()
    sent = sum(count.bytes.get("Send", 0) for count in traffic)
    received = sum(count.bytes.get("Recv", 0) for count in traffic)
    assert sent == received


def test_mixing_gradients_never_reaches_consensus() -> None:
    good = distributed(schemes.DPSGD(), 6, epochs=6).run().series["consensus distance"]
    bad = distributed(GradientMixing(), 6, epochs=6).run().series["consensus distance"]
    assert bad[-1] > 3 * good[-1]
    assert bad[-1] > 1.5 * bad[0]  # it goes on drifting apart


class Alone(Scheme):
    """Declares that replicas are equal, and never communicates."""

    synchronous: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        yield from update(worker)


def test_consensus_is_measured_of_schemes_that_declare_it() -> None:
    equal = distributed(schemes.AllReduce(), 3, epochs=2).run()
    assert equal.series["consensus distance"] == [0.0, 0.0]
    warn_of_apart_replicas(schemes.AllReduce(), equal)
    equal.series["consensus distance"][1] = 1e-9
    with pytest.warns(Deep500Warning, match="AllReduce.* declared synchronous, but"):
        warn_of_apart_replicas(schemes.AllReduce(), equal)


def test_a_scheme_that_is_not_synchronous_is_refused_if_it_says_so() -> None:
    run = distributed(Alone(), 3, epochs=2)
    with pytest.raises(Deep500Error, match="Alone.* declared synchronous, but after"):
        run.run()


@pytest.mark.parametrize("scheme", EVERY, ids=str)
def test_a_checkpoint_goes_on_to_the_same_bits(scheme: Scheme) -> None:
    whole = trained(scheme, 4, epochs=2)
    first = trained(scheme, 4, epochs=1)
    second = distributed(scheme, 4, epochs=2)
    second.run(first.checkpoint())
    for rank in range(4):
        assert difference(params(second, rank), params(whole, rank)) == 0


@pytest.mark.parametrize("scheme", EVERY, ids=str)
@pytest.mark.parametrize("step", [1, 4, 9])
def test_a_lost_rank_is_named(scheme: Scheme, step: int) -> None:
    if isinstance(scheme, schemes.Ensemble):
        pytest.skip("ranks of an ensemble do not communicate in training")
    transport = Virtual(4, kill={2: step})
    with pytest.raises(RankFailure, match=r"rank 2"):
        distributed(scheme, 4, transport=transport, epochs=1).run()


@pytest.mark.parametrize("scheme", EVERY, ids=str)
def test_two_runs_on_virtual_ranks_give_the_same_bits(scheme: Scheme) -> None:
    runs = []
    for _ in range(2):
        transport = Virtual(4, example=0.001, speed={0: 1.3, 1: 2.1})
        runs.append(trained(scheme, 4, transport=transport))
    assert difference(params(runs[0], 1), params(runs[1], 1)) == 0
    assert runs[0].transport.clock(1) == runs[1].transport.clock(1)


@pytest.mark.parametrize(
    ("scheme", "ranks", "message"),
    [
        (schemes.ParameterServer(), 1, "at least 2 ranks"),
        (schemes.ParameterServer(servers=3), 3, "1 to 2"),
        (schemes.ParameterServer(servers=9), 12, "4 tensors"),
        (schemes.ParameterServer(staleness=-1), 3, "0 or more"),
        (schemes.ElasticAveraging(alpha=0.3), 4, "0 to 0.25"),
        (schemes.AsyncElasticAveraging(), 1, "2 ranks or more"),
        (schemes.LocalSGD(period=0), 2, "period of 1 or more"),
        (schemes.StaleAllReduce(staleness=-1), 2, "0 or more"),
        (schemes.HierarchicalParameterServer(group=0), 2, "1 or more"),
        (schemes.DPSGD(topology=topologies.Torus(rows=3)), 4, "a divisor of 4"),
    ],
)
def test_impossible_settings_are_refused(
    scheme: Scheme, ranks: int, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        distributed(scheme, ranks).run()
