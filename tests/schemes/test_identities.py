"""What schemes must be equal to, and what they must conserve."""

import numpy as np
import pytest

from deep500 import schemes, topologies
from deep500.contracts.scheme import Scheme
from deep500.optimizers.momentum import Momentum
from deep500.optimizers.sgd import SGD
from deep500.schemes.push_sum import WEIGHT
from tests.distributed.training import distributed

from .runs import (
    STILL,
    communicate,
    difference,
    flat,
    params,
    scatter_replicas,
    trained,
)


@pytest.mark.parametrize("trainers", [1, 2, 3, 5])
@pytest.mark.parametrize("servers", [1, 2, 3])
def test_a_synchronous_server_gives_the_bits_of_allreduce(
    trainers: int, servers: int
) -> None:
    server = trained(schemes.ParameterServer(servers=servers), trainers + servers)
    reduced = trained(schemes.AllReduce(), trainers)
    for rank in range(trainers):
        assert difference(params(server, rank), params(reduced)) == 0


@pytest.mark.parametrize("engine", ["pytorch", "jax", "onnxruntime"])
def test_a_server_works_on_every_framework(engine: str) -> None:
    server = trained(schemes.ParameterServer(servers=2), 4, engine=engine)
    reduced = trained(schemes.AllReduce(), 2, engine=engine)
    assert difference(params(server), params(reduced)) < 1e-6


@pytest.mark.parametrize(
    ("ranks", "group"), [(2, 2), (4, 2), (5, 2), (7, 3), (3, 1), (4, 8)]
)
def test_groups_of_a_server_sum_the_same_gradients(ranks: int, group: int) -> None:
    run = trained(schemes.HierarchicalParameterServer(group=group), ranks)
    reduced = trained(schemes.AllReduce(), ranks)
    assert difference(params(run), params(reduced)) < 1e-6
    for rank in range(1, ranks):
        assert difference(params(run, rank), params(run)) == 0


def test_no_staleness_is_allreduce() -> None:
    stale = trained(schemes.StaleAllReduce(staleness=0), 3)
    assert difference(params(stale), params(trained(schemes.AllReduce(), 3))) == 0


def test_local_sgd_that_averages_every_step_is_allreduce_for_sgd_alone() -> None:
    def local(optimizer: Momentum | SGD) -> float:
        run = trained(schemes.LocalSGD(period=1), 3, optimizer=optimizer)
        reduced = trained(schemes.AllReduce(), 3, optimizer=optimizer)
        return difference(params(run), params(reduced))

    assert local(SGD(0.1)) < 1e-6
    assert local(Momentum(0.1, 0.9)) > 1e-4  # velocities stay local: the test can fail


def test_post_local_sgd_is_allreduce_at_first() -> None:
    run = trained(schemes.LocalSGD(period=3, synchronous_steps=8), 3)  # 8 steps in all
    assert difference(params(run), params(trained(schemes.AllReduce(), 3))) < 1e-7
    sooner = trained(schemes.LocalSGD(period=3, synchronous_steps=4), 3)
    assert difference(params(sooner), params(run)) > 1e-4


def test_elastic_averaging_without_springs_is_training_alone() -> None:
    loose = trained(schemes.ElasticAveraging(alpha=0.0), 3)
    alone = trained(schemes.Ensemble(), 3)
    for rank in range(3):
        assert difference(params(loose, rank), params(alone, rank)) == 0
    tied = trained(schemes.ElasticAveraging(alpha=0.2), 3)
    assert difference(params(tied, 1), params(alone, 1)) > 1e-4


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_the_complete_graph_averages_at_once(ranks: int) -> None:
    run = distributed(
        schemes.DPSGD(topology=topologies.Complete()), ranks, optimizer=STILL
    )
    before = scatter_replicas(run)
    communicate(run)
    for rank in range(ranks):
        np.testing.assert_allclose(flat(run, rank), before.mean(axis=0), atol=1e-5)


MIXING: list[Scheme] = [
    schemes.DPSGD(),
    schemes.DPSGD(topology=topologies.Torus()),
    schemes.DPSGD(topology=topologies.Exponential()),
    schemes.PairwiseGossip(),
    schemes.PushSum(),
]


@pytest.mark.parametrize("scheme", MIXING, ids=str)
@pytest.mark.parametrize("ranks", [3, 4, 6])
def test_mixing_keeps_the_average_and_reaches_consensus(
    scheme: Scheme, ranks: int
) -> None:
    run = distributed(scheme, ranks, optimizer=STILL, batch_size=8)
    before = scatter_replicas(run)
    for replica in run.replicas.values():
        replica.state[WEIGHT] = np.ones(1)
    communicate(run, epochs=4)
    for rank in range(ranks):
        distance = np.abs(flat(run, rank) - before.mean(axis=0)).max()
        assert distance < 0.05 * np.abs(before - before.mean(axis=0)).max()


def test_push_sum_weights_count_every_rank_once() -> None:
    run = trained(schemes.PushSum(), 5)
    weights = [float(replica.state[WEIGHT][0]) for replica in run.replicas.values()]
    assert sum(weights) == pytest.approx(5, abs=1e-12)
    # a directed graph: without them, the average would be wrong
    assert max(weights) - min(weights) > 0.1


@pytest.mark.parametrize("alpha", [0.05, 0.25])
def test_springs_conserve_the_sum_of_replicas_and_centre(alpha: float) -> None:
    run = distributed(schemes.ElasticAveraging(alpha=alpha), 4, optimizer=STILL)
    run.run_programs(run.scheme.start)
    before = scatter_replicas(run)
    centre = run.replicas[0].state["centre float32"].copy()
    communicate(run)
    after = np.array([flat(run, rank) for rank in range(4)])
    moved = run.replicas[2].state["centre float32"]
    np.testing.assert_allclose(
        after.sum(axis=0) + moved, before.sum(axis=0) + centre, atol=1e-4
    )
    assert np.abs(moved - centre).max() > 0.1


def test_an_asynchronous_centre_conserves_the_same_sum() -> None:
    run = distributed(
        schemes.AsyncElasticAveraging(alpha=0.3, period=1), 4, optimizer=STILL
    )
    run.run_programs(run.scheme.start)
    before = scatter_replicas(run)[:3]  # of the trainers
    centre = run.replicas[3].state["centre float32"].copy()
    communicate(run)
    after = np.array([flat(run, rank) for rank in range(3)])
    moved = run.replicas[3].state["centre float32"]
    np.testing.assert_allclose(
        after.sum(axis=0) + moved, before.sum(axis=0) + centre, atol=1e-4
    )
    assert np.abs(moved - centre).max() > 0.1


def test_hogwild_of_one_rank_is_plain_training() -> None:
    assert (
        difference(
            params(trained(schemes.Hogwild(), 1)),
            params(trained(schemes.AllReduce(), 1)),
        )
        < 1e-6
    )


def test_hogwild_adds_the_changes_of_all_ranks() -> None:
    """Ranks of one speed read the same parameters: the sum of P steps of SGD is one with P times the rate."""
    wild = trained(schemes.Hogwild(), 4, optimizer=SGD(0.025), data=None)
    assert all(difference(params(wild, rank), params(wild)) == 0 for rank in range(4))


def test_an_ensemble_averages_predictions() -> None:
    run = trained(schemes.Ensemble(), 3)
    batch = run.splits["test"].batch(slice(0, 10))
    [name] = run.task.reads()
    alone = []
    for replica in run.replicas.values():
        executor = replica.executor
        alone.append(executor.framework.array(executor.inference(batch)[name]))
    together = run.procedure.inference(batch)[name]
    np.testing.assert_allclose(
        run.executor.framework.array(together), np.mean(alone, axis=0), atol=1e-6
    )
    assert np.abs(alone[0] - alone[1]).max() > 1e-3
