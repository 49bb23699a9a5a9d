"""Laws of samplers: every example once per epoch, and nothing but seed and epoch decides the order."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500 import registry
from deep500.contracts.sampler import Sampler
from deep500.errors import Deep500Error
from deep500.samplers.bucket_sampler import BucketSampler
from deep500.samplers.ordered_sampler import OrderedSampler
from deep500.samplers.partitioned_sampler import PartitionedSampler
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.samplers.weighted_sampler import WeightedSampler, balanced_weights

# those that need no more than a batch size
PLAIN: list[type[Sampler]] = [OrderedSampler, ShuffleSampler]


def test_every_sampler_is_tested_here() -> None:
    kinds = {*PLAIN, BucketSampler, PartitionedSampler, WeightedSampler}
    elsewhere = {"ScheduledSampler"}
    assert {kind.__name__ for kind in kinds} | elsewhere == {
        *registry.known("samplers")
    }


def faults(sampler: Sampler, size: int, epoch: int) -> list[str]:
    """What one epoch does that it should not."""
    drawn = list(sampler.epoch(size, epoch))
    found = (
        []
        if sorted(np.concatenate(drawn)) == list(range(size))
        else ["not every index once"]
    )
    if (
        any(len(batch) != sampler.batch_size for batch in drawn[:-1])
        or not 0 < len(drawn[-1]) <= sampler.batch_size
    ):
        found.append("a batch of another size before the last")
    again = list(sampler.epoch(size, epoch))
    if [b.tolist() for b in drawn] != [b.tolist() for b in again]:
        found.append("not a pure function")
    return found


@pytest.mark.parametrize("kind", PLAIN)
@given(
    size=st.integers(1, 300),
    batch=st.integers(1, 70),
    seed=st.integers(0, 2**63 - 1),
    epoch=st.integers(0, 2**40),
)
def test_every_index_comes_once_per_epoch(
    kind: type[Sampler], size: int, batch: int, seed: int, epoch: int
) -> None:
    assert faults(kind(batch, seed), size, epoch) == []


def test_planted_faults_are_found() -> None:
    class Drops(Sampler):
        def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
            return iter([np.arange(size // self.batch_size * self.batch_size)])

    class Draws(Sampler):
        def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
            return iter([np.random.default_rng().permutation(size)])

    assert "not every index once" in faults(Drops(4), 10, 0)
    assert faults(Draws(100), 100, 0) == ["not a pure function"]


def test_epochs_and_seeds_differ() -> None:
    orders = [
        tuple(next(ShuffleSampler(100, seed).epoch(100, epoch)))
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4


def test_every_place_is_as_likely() -> None:
    """Where example 0 lands over 2000 epochs: chi-square with 9 degrees of freedom, 99.99 % quantile 33.7."""
    places = [
        int(np.argmin(next(ShuffleSampler(10, 1).epoch(10, epoch))))
        for epoch in range(2000)
    ]
    assert ((np.bincount(places, minlength=10) - 200) ** 2 / 200).sum() < 33.7


def test_the_order_is_the_same_everywhere() -> None:
    """Frozen: a change here changes every training run there ever was."""
    assert next(ShuffleSampler(10, seed=1).epoch(10, 2)).tolist() == [
        4,
        2,
        0,
        6,
        1,
        5,
        9,
        8,
        7,
        3,
    ]


def test_the_ordered_sampler_keeps_the_order() -> None:
    assert [b.tolist() for b in OrderedSampler(2).epoch(5, 7)] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 0},
        {"batch_size": 1, "seed": -1},
        {"batch_size": 1, "seed": 2**63},
    ],
)
@pytest.mark.parametrize("kind", PLAIN)
def test_bad_settings_are_refused(
    kind: type[Sampler], settings: dict[str, int]
) -> None:
    with pytest.raises(
        Deep500Error,
        match="a sampler needs a batch_size of at least 1 and a seed from 0",
    ):
        kind(**settings)


# -- weighted


def test_weights_are_respected() -> None:
    """Chi-square of 40,000 draws with 3 degrees of freedom (99.99 %: 21.1); a weight of 0 is never drawn."""
    weights = (1.0, 0.0, 2.0, 5.0, 0.5)
    sampler = WeightedSampler(100, 3, weights, draws=40_000)
    counts = np.bincount(sampler.order(5, 0), minlength=5)
    expected = 40_000 * np.array(weights) / sum(weights)
    assert counts[1] == 0
    drawn = [0, 2, 3, 4]
    assert ((counts - expected)[drawn] ** 2 / expected[drawn]).sum() < 21.1
    assert sampler.shares(5).tolist() == (np.array(weights) / 8.5).tolist()


def test_weighted_draws_are_the_same_everywhere_and_others_in_every_epoch() -> None:
    sampler = WeightedSampler(4, 1, (1, 2, 3, 4))
    assert [batch.tolist() for batch in sampler.epoch(4, 0)] == [FROZEN_DRAWS]
    assert sampler.order(4, 0).tolist() == sampler.order(4, 0).tolist()
    long = WeightedSampler(4, 1, (1, 2, 3, 4), draws=100)
    assert long.order(4, 0).tolist() != long.order(4, 1).tolist()
    assert [len(batch) for batch in long.epoch(4, 0)] == [4] * 25


FROZEN_DRAWS = [2, 3, 1, 0]


def test_balanced_weights_make_classes_equally_frequent() -> None:
    labels = np.array([7] * 90 + [2] * 9 + [5])
    weights: Any = balanced_weights(labels)
    for label in (2, 5, 7):
        assert weights[labels == label].sum() == pytest.approx(1 / 3)
    drawn = labels[WeightedSampler(64, 0, weights, draws=9000).order(100, 0)]
    assert abs(np.unique(drawn, return_counts=True)[1] - 3000).max() < 300


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((), "needs weights"),
        ((1, -1), "needs weights"),
        ((1, float("nan")), "needs weights"),
        ((0, 0), "sum to 0"),
    ],
)
def test_bad_weights_are_refused(weights: tuple, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        WeightedSampler(4, 0, weights)


def test_weights_of_other_data_are_refused() -> None:
    with pytest.raises(
        Deep500Error, match="has 2 weights, and the data have 3 examples"
    ):
        WeightedSampler(4, 0, (1, 2)).order(3, 0)
    with pytest.raises(
        Deep500Error, match="has 2 lengths, and the data have 3 examples"
    ):
        list(BucketSampler(4, 0, (1, 2)).epoch(3, 0))


# -- buckets


@given(size=st.integers(1, 300), batch=st.integers(1, 40), pool=st.integers(1, 9))
def test_buckets_have_every_example_once(size: int, batch: int, pool: int) -> None:
    lengths: Any = np.random.default_rng(size).integers(1, 50, size)
    sampler = BucketSampler(batch, 5, lengths, pool)
    assert faults(sampler, size, 3) == []


def test_batches_of_buckets_hold_similar_lengths() -> None:
    lengths: Any = np.random.default_rng(0).integers(1, 1000, 2000)

    def padding(sampler: Sampler) -> float:
        return float(
            sum((lengths[b].max() - lengths[b]).sum() for b in sampler.epoch(2000, 0))
        )

    assert padding(BucketSampler(20, 0, lengths)) < 0.1 * padding(ShuffleSampler(20, 0))
    epochs = [
        list(BucketSampler(20, 0, lengths).epoch(2000, epoch)) for epoch in (0, 1)
    ]
    together = [{frozenset(batch.tolist()) for batch in batches} for batches in epochs]
    assert not together[0] & together[1]


# -- partitioned


@given(
    size=st.integers(1, 300),
    ranks=st.integers(1, 9),
    more=st.integers(0, 30),
    epoch=st.integers(0, 9),
)
def test_every_example_is_on_exactly_one_rank(
    size: int, ranks: int, more: int, epoch: int
) -> None:
    """In 2019, 250 draws of several ranks held only 167 different examples: all ranks drew alike."""
    whole = ShuffleSampler(ranks + more, 4)
    parts = [PartitionedSampler(whole, rank, ranks) for rank in range(ranks)]
    drawn = [list(part.epoch(size, epoch)) for part in parts]
    assert len({len(batches) for batches in drawn}) == 1
    for pieces, batch in zip(
        zip(*drawn, strict=True), whole.epoch(size, epoch), strict=True
    ):
        assert np.concatenate(pieces).tolist() == batch.tolist()
        sizes = [len(piece) for piece in pieces]
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= parts[0].batch_size
    everything = np.concatenate([part.order(size, epoch) for part in parts])
    assert sorted(everything.tolist()) == list(range(size))


def test_ranks_draw_differently() -> None:
    parts = [
        PartitionedSampler(ShuffleSampler(100, 0), rank, 4).order(250, 0)
        for rank in range(4)
    ]
    assert len({*np.concatenate(parts).tolist()}) == 250
    assert len({tuple(part.tolist()) for part in parts}) == 4


def test_a_partitioned_sampler_is_a_sampler() -> None:
    part = PartitionedSampler(ShuffleSampler(10, 3), 1, 4)
    assert (part.batch_size, part.seed, part.rank, part.ranks) == (3, 3, 1, 4)
    assert part == PartitionedSampler(ShuffleSampler(10, 3), 1, 4)
    assert part != PartitionedSampler(ShuffleSampler(10, 3), 2, 4)
    part.load_state(part.state())
    with pytest.raises(Deep500Error, match="the checkpoint was made with"):
        part.load_state(PartitionedSampler(ShuffleSampler(10, 3), 2, 4).state())


@pytest.mark.parametrize(
    ("rank", "ranks", "message"),
    [
        (4, 4, "rank is 4"),
        (-1, 4, "rank is -1"),
        (0, 0, "ranks is 0"),
        (0, 11, "11 pieces"),
    ],
)
def test_ranks_that_cannot_be_are_refused(rank: int, ranks: int, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        PartitionedSampler(ShuffleSampler(10), rank, ranks)


def test_states_of_long_samplers_are_short_and_tell_them_apart() -> None:
    samplers: list[Sampler] = [
        WeightedSampler(4, 0, tuple(range(1, 5000))),
        WeightedSampler(4, 0, tuple(range(2, 5001))),
        BucketSampler(4, 0, tuple(range(1, 5000))),
    ]
    states = [str(sampler.state()) for sampler in samplers]
    assert len({*states}) == 3 and max(map(len, states)) < 200
