"""Checks of samplers: right ones pass with every seed, and each planted fault is found by the check that is for it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.check.samplers import check_sampler
from deep500.check.samplers.distributions import (
    chi_square,
    independence,
    smallest_of,
)
from deep500.contracts.sampler import Sampler, batches, random_bits, shuffled
from deep500.errors import Deep500Error
from deep500.samplers.partitioned_sampler import PartitionedSampler
from deep500.samplers.weighted_sampler import WeightedSampler

RIGHT: list[Sampler] = [
    d5.OrderedSampler(4),
    d5.ShuffleSampler(4, 3),
    d5.ShuffleSampler(1),
    d5.ShuffleSampler(100, 7),
    d5.WeightedSampler(4, 0, (1, 2, 3, 0, 5.0, 1, 1), draws=50),
    d5.BucketSampler(4, 0, tuple(range(30))),
    d5.PartitionedSampler(d5.ShuffleSampler(8), 1, 3),
]


@pytest.mark.parametrize("sampler", RIGHT, ids=repr)
def test_right_samplers_pass(sampler: Sampler) -> None:
    report = d5.check_sampler(sampler, epochs=600)
    assert report, report.wrong
    assert len([check for check in report.checks if check.ok]) >= 5


class SameEveryEpoch(Sampler):
    """In 2019 every epoch was seeded with the same number."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, 0)


class DropsLast(Sampler):
    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        order = shuffled(size, self.seed, epoch)
        return batches(order[: size - size % self.batch_size], self.batch_size)


class SwapsWithAny(Sampler):
    """The classic mistake: every place is swapped with any place, not only with those that come after it."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        order = np.arange(size)
        for place, other in enumerate(random_bits(size, self.seed, epoch) % size):
            order[[place, int(other)]] = order[[int(other), place]]
        return order


class Repeats(Sampler):
    """Draws with replacement, and says that every example comes once."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        return (random_bits(size, self.seed, epoch) % size).astype(np.int64)


class Reverses(Sampler):
    """Every other epoch is the one before, backwards."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        order = shuffled(size, self.seed, epoch // 2)
        return order[::-1] if epoch % 2 else order


class NoSeed(Sampler):
    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, 0, epoch)


class NotPure(Sampler):
    def order(self, size: int, epoch: int) -> np.ndarray:
        return np.random.default_rng().permutation(size)


class OneTooFar(Sampler):
    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, epoch) + 1


class WrongBatches(Sampler):
    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        return batches(shuffled(size, self.seed, epoch), self.batch_size + 1)


class SaysOrdered(Sampler):
    shuffles = False

    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, epoch)


class IgnoresWeights(WeightedSampler):
    def order(self, size: int, epoch: int) -> np.ndarray:
        return (random_bits(self.draws or size, self.seed, epoch) % size).astype(
            np.int64
        )


class EveryRankAlike(PartitionedSampler):
    """In 2019 all ranks drew from the same seed: 250 draws held 167 different examples."""

    __init__ = PartitionedSampler.__init__

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        for batch in self.sampler.epoch(size, epoch):
            yield np.array_split(batch, self.ranks)[0]


PLANTED: list[tuple[Sampler, str]] = [
    (SameEveryEpoch(4), "order"),
    (SameEveryEpoch(4), "positions"),
    (DropsLast(4), "coverage"),
    (SwapsWithAny(4), "positions"),
    (Repeats(4), "coverage"),
    (Reverses(4), "independence of epochs"),
    (NoSeed(4), "independence of seeds"),
    (NotPure(4), "determinism"),
    (OneTooFar(4), "indices"),
    (WrongBatches(4), "batch sizes"),
    (SaysOrdered(4), "order"),
    (IgnoresWeights(4, 0, (1.0, 1.1, 1.0, 1.0, 0.9), draws=40), "shares"),
    (EveryRankAlike(d5.ShuffleSampler(8), 1, 3), "ranks"),
]


@pytest.mark.parametrize(("sampler", "name"), PLANTED, ids=lambda part: str(part)[:40])
def test_planted_faults_are_found(sampler: Sampler, name: str) -> None:
    report = check_sampler(sampler)
    assert not report
    assert name in [check.name for check in report.wrong]
    assert all(check.text for check in report.wrong)


def test_a_fault_says_what_was_seen() -> None:
    report = check_sampler(DropsLast(4), size=250, epochs=100)
    [fault] = report.wrong
    assert (
        fault.text
        == "epoch 0 has 248 draws, 248 different ones, and misses 2 of 250 examples"
    )


class Endless(Sampler):
    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        while True:
            yield np.arange(1)


class Raises(Sampler):
    def order(self, size: int, epoch: int) -> np.ndarray:
        raise ValueError("no order\ntoday")


@pytest.mark.parametrize(
    ("sampler", "settings", "message"),
    [
        (Endless(4), {}, "epoch 0 of Endless has no end"),
        (
            Raises(4),
            {},
            "Raises cannot draw epoch 0 of 13 examples: ValueError: no order today",
        ),
        (d5.ShuffleSampler(4), {"size": 1}, "size is 1"),
        (d5.ShuffleSampler(4), {"epochs": 10}, "epochs is 10"),
        (d5.ShuffleSampler(4), {"level": 0.7}, "level is 0.7"),
        (3, {}, "a sampler is a d5.Sampler, not 3"),
    ],
)
def test_what_cannot_be_checked_is_refused(
    sampler: Any, settings: dict, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message) as caught:
        check_sampler(sampler, **settings)
    assert "\n" not in str(caught.value)


def test_probabilities_are_uniform_where_nothing_is_wrong() -> None:
    """Of 400 seeds, about as many below each level as the level says; chi-square against SciPy's own."""
    from scipy import stats

    random = np.random.default_rng(0)
    found = []
    for _ in range(400):
        counts = random.multinomial(3000, [0.1, 0.2, 0.3, 0.4])
        probability = chi_square(counts, 3000 * np.array([0.1, 0.2, 0.3, 0.4]))
        wanted = stats.chisquare(counts, 3000 * np.array([0.1, 0.2, 0.3, 0.4])).pvalue
        assert probability == pytest.approx(wanted)
        found.append(probability)
    assert stats.kstest(found, "uniform").pvalue > 1e-3
    table = random.multinomial(4000, np.full(16, 1 / 16)).reshape(4, 4)
    wanted = stats.chi2_contingency(table, correction=False).pvalue
    assert independence(table) == pytest.approx(wanted)
    assert smallest_of([0.5, 0.01, None]) == 0.02 and smallest_of([None]) is None
    assert chi_square(np.array([1, 5]), np.array([0, 6.0])) == 0


@pytest.mark.slow
def test_right_samplers_fail_as_seldom_as_the_level_says() -> None:
    """100 seeds at a level of 0.01 for each of three tests: three false alarms are expected, ten are not."""
    alarms = 0
    for seed in range(100):
        report = check_sampler(d5.ShuffleSampler(4, seed), epochs=400, level=0.01)
        alarms += len(report.wrong)
    assert alarms <= 10
