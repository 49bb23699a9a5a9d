"""P ranks with b examples each do what one rank does with P b examples."""

from functools import cache, partial

import numpy as np
import pytest

from deep500.collectives.ring import Ring
from deep500.contracts.collective import Collective
from deep500.contracts.network import Network
from deep500.contracts.scheme import Scheme, Worker, backprop, update
from deep500.contracts.transport import Program, all_reduce
from deep500.distributed.shards import bounds
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.optimizers.adam import Adam
from deep500.optimizers.momentum import Momentum
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.schemes.all_reduce import AllReduce
from deep500.training.trainer import Trainer

from .training import distributed, network, splits

RANKS = [1, 2, 3, 4, 5, 7, 8, 16]
ENGINES = ["reference", "pytorch", "jax", "onnxruntime", "tensorflow"]
with_dropout = partial(network, dropout=True)


def accumulated(
    ranks: int, engine: str = "reference", epochs: int = 2
) -> dict[str, np.ndarray]:
    """Serial training that adds up the gradients of the same parts of every batch, in the order of the ranks."""
    data = splits()["train"]
    executor = framework(engine).from_model(with_dropout(), seed=11)
    step = executor.training_step(Momentum(0.1, 0.9))
    for epoch in range(epochs):
        for rows in ShuffleSampler(32, seed=7).epoch(len(data), epoch):
            total = executor.layout.zeros()
            for rank in range(ranks):
                first, stop = bounds(len(rows), rank, ranks)
                if stop == first:
                    continue
                step.backprop(data.batch(rows[first:stop], epoch), first)
                for dtype, buffer in executor.flat_gradients().items():
                    total[dtype] += buffer * np.float32((stop - first) / len(rows))
            executor.load_flat_gradients(total)
            step.update()
    return executor.arrays()


@cache
def serial(
    engine: str = "reference", epochs: int = 2
) -> tuple[dict[str, np.ndarray], list[float]]:
    """Plain training with whole batches: parameters and losses."""
    executor = framework(engine).from_model(with_dropout(), seed=11)
    sampler = ShuffleSampler(32, seed=7)
    trainer = Trainer(
        executor,
        Momentum(0.1, 0.9),
        splits=splits(),
        sampler=sampler,
        epochs=epochs,
        events=[],
    )
    history = trainer.run()
    return executor.arrays(), history.losses


def largest_difference(
    left: dict[str, np.ndarray], right: dict[str, np.ndarray]
) -> float:
    return max(float(np.abs(left[name] - right[name]).max()) for name in left)


@pytest.mark.parametrize("ranks", RANKS)
def test_ranks_give_the_bits_of_accumulated_parts(ranks: int) -> None:
    """Uneven parts and parts without any row included: the last batch has 5 rows."""
    run = distributed(AllReduce(), ranks, make=with_dropout)
    run.run()
    wanted = accumulated(ranks)
    for replica in run.replicas.values():
        arrays = replica.executor.arrays()
        assert all(np.array_equal(arrays[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("collective", [None, Ring()])
def test_ranks_give_what_one_rank_gives(
    ranks: int, collective: Collective | None
) -> None:
    run = distributed(AllReduce(collective=collective), ranks, make=with_dropout)
    history = run.run()
    arrays = run.executor.arrays()
    assert largest_difference(arrays, serial()[0]) < 1e-6  # float32, 8 steps
    replicas = [replica.executor.arrays() for replica in run.replicas.values()]
    assert all(largest_difference(arrays, other) == 0 for other in replicas)
    assert history.samples == 2 * 101 and history.steps == 8


@pytest.mark.parametrize("engine", ENGINES)
def test_every_framework_trains_on_many_ranks(engine: str) -> None:
    run = distributed(AllReduce(), 2, engine, make=with_dropout)
    history = run.run()
    params, losses = serial(engine)
    assert largest_difference(run.executor.arrays(), params) < 2e-6
    assert np.allclose(history.losses, losses, atol=2e-6)


def test_small_buckets_give_the_same_bits() -> None:
    whole = distributed(AllReduce(), 4)
    small = distributed(AllReduce(bucket_bytes=64), 4)
    whole.run(), small.run()
    assert largest_difference(whole.executor.arrays(), small.executor.arrays()) == 0
    messages = [
        run.transport.traffic[0].messages["AllReduce"] for run in (whole, small)
    ]
    assert messages == [8, 32]  # 8 steps, 4 tensors


def test_bytes_are_those_of_the_formula() -> None:
    """Native: 2 (P - 1) / P of the gradient per step. A ring: its own pieces, in 2 (P - 1) messages per step."""
    native = distributed(AllReduce(), 4)
    history = native.run()
    layout = native.executor.layout
    spans = [(bucket.stop - bucket.start) * 4 for bucket in layout.buckets()]
    assert history.counters["bytes of rank 1"] == 8 * sum(spans) * 2 * 3 / 4
    assert history.counters["modelled bytes of rank 1"] == 8 * sum(spans) * 2 * 3 / 4
    ring = distributed(AllReduce(collective=Ring()), 4)
    history = ring.run()
    pieces = [4 * len(piece) for piece in np.array_split(np.zeros(spans[0] // 4), 4)]
    for rank in range(4):
        sent = 2 * sum(pieces) - pieces[(rank + 1) % 4] - pieces[(rank + 2) % 4]
        assert history.counters[f"bytes of rank {rank}"] == 8 * sent
        assert history.counters[f"modelled bytes of rank {rank}"] == 0
        assert history.counters[f"messages of rank {rank}"] == 8 * 2 * 3


def test_all_ranks_start_from_the_parameters_of_rank_0() -> None:
    run = distributed(AllReduce(), 3)
    executor = run.replicas[2].executor
    executor.load({name: value + 1 for name, value in executor.arrays().items()})
    run.run()
    assert largest_difference(run.executor.arrays(), executor.arrays()) == 0
    plain = distributed(AllReduce(), 3)
    plain.run()
    assert largest_difference(run.executor.arrays(), plain.executor.arrays()) == 0


class WithoutRankZero(Scheme):
    """The parameter server of 2019: rank 0 computes a gradient and throws it away."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = worker.gradients()
        for buffer in gradients.values():
            buffer *= 0 if worker.rank == 0 else 1 / (worker.size - 1)
            yield from all_reduce(buffer)
        worker.set_gradients(gradients)
        yield from update(worker)


class Unweighted(Scheme):
    """Forgets that parts of a batch may differ in size."""

    def step(self, worker: Worker) -> Program:
        yield from backprop(worker)
        gradients = worker.gradients()
        for buffer in gradients.values():
            buffer /= worker.size
            yield from all_reduce(buffer)
        worker.set_gradients(gradients)
        yield from update(worker)


@pytest.mark.parametrize("scheme", [WithoutRankZero(), Unweighted()])
def test_planted_errors_are_found(scheme: Scheme) -> None:
    run = distributed(scheme, 3, make=with_dropout)
    run.run()
    assert largest_difference(run.executor.arrays(), serial()[0]) > 1e-4


@pytest.mark.parametrize("epochs_before", [1, 2])
def test_a_run_goes_on_from_a_checkpoint_to_the_same_bits(epochs_before: int) -> None:
    whole = distributed(
        AllReduce(), 3, optimizer=Adam(0.01), epochs=3, make=with_dropout
    )
    history = whole.run()
    first = distributed(
        AllReduce(), 3, optimizer=Adam(0.01), epochs=epochs_before, make=with_dropout
    )
    first.run()
    second = distributed(
        AllReduce(), 3, optimizer=Adam(0.01), epochs=3, make=with_dropout
    )
    resumed = second.run(first.checkpoint())
    for rank in range(3):
        ended = second.replicas[rank].executor.arrays()
        wanted = whole.replicas[rank].executor.arrays()
        assert largest_difference(ended, wanted) == 0
    assert resumed.losses == history.losses
    assert resumed.counters["bytes of rank 1"] == history.counters["bytes of rank 1"]


@pytest.mark.parametrize(
    ("ranks", "batch_size", "message"),
    [(102, 200, "101 examples"), (40, 32, "batch of 32")],
)
def test_more_ranks_than_examples_are_refused(
    ranks: int, batch_size: int, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        distributed(AllReduce(), ranks, batch_size=batch_size)


def _networks_are_used(made: Network) -> bool:
    return any(type(node.operator).__name__ == "Dropout" for node in made.nodes)


def test_the_network_of_these_tests_draws_at_random() -> None:
    assert _networks_are_used(with_dropout()) and not _networks_are_used(network())
