"""Laws of samplers: every example once per epoch, and nothing but seed and epoch decides the order."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep500 import registry
from deep500.contracts.sampler import Sampler
from deep500.errors import Deep500Error
from deep500.samplers.ordered_sampler import OrderedSampler
from deep500.samplers.shuffle_sampler import ShuffleSampler

ALL = [registry.find("samplers", name) for name in registry.known("samplers")]


def faults(sampler: Sampler, size: int, epoch: int) -> list[str]:
    """What one epoch does that it should not."""
    drawn = list(sampler.epoch(size, epoch))
    found = [] if sorted(np.concatenate(drawn)) == list(range(size)) else ["not every index once"]
    if (
        any(len(batch) != sampler.batch_size for batch in drawn[:-1])
        or not 0 < len(drawn[-1]) <= sampler.batch_size
    ):
        found.append("a batch of another size before the last")
    again = list(sampler.epoch(size, epoch))
    if [b.tolist() for b in drawn] != [b.tolist() for b in again]:
        found.append("not a pure function")
    return found


@pytest.mark.parametrize("kind", ALL)
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
    places = [int(np.argmin(next(ShuffleSampler(10, 1).epoch(10, epoch)))) for epoch in range(2000)]
    assert ((np.bincount(places, minlength=10) - 200) ** 2 / 200).sum() < 33.7


def test_the_order_is_the_same_everywhere() -> None:
    """Frozen: a change here changes every training run there ever was."""
    assert next(ShuffleSampler(10, seed=1).epoch(10, 2)).tolist() == [4, 2, 0, 6, 1, 5, 9, 8, 7, 3]


def test_the_ordered_sampler_keeps_the_order() -> None:
    assert [b.tolist() for b in OrderedSampler(2).epoch(5, 7)] == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize(
    "settings", [{"batch_size": 0}, {"batch_size": 1, "seed": -1}, {"batch_size": 1, "seed": 2**63}]
)
@pytest.mark.parametrize("kind", ALL)
def test_bad_settings_are_refused(kind: type[Sampler], settings: dict[str, int]) -> None:
    with pytest.raises(
        Deep500Error, match="a sampler needs a batch_size of at least 1 and a seed from 0"
    ):
        kind(**settings)
