"""Examples drawn with individual probabilities."""

import numpy as np

from ..contracts.sampler import (
    Sampler,
    check_count,
    numbers_in_short,
    random_bits,
)
from ..errors import Deep500Error


class WeightedSampler(Sampler):
    """Draws with replacement: an example's probability is its weight divided by the sum of all weights.

    An epoch has `draws` examples, by default as many as there are. `balanced_weights` computes weights with which all
    classes are equally frequent.
    """

    weights: tuple[float, ...] = ()
    draws: int = 0
    every_example_once = False

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = np.asarray(self.weights, np.float64)
        are_finite = len(weights) > 0 and np.isfinite(weights).all()
        if not are_finite or weights.min() < 0:
            raise Deep500Error(
                "WeightedSampler needs weights, one finite number of at least 0 for each example"
            )
        total = weights.sum()
        if not total > 0 or self.draws < 0:
            raise Deep500Error(
                f"WeightedSampler has weights that sum to {total} and draws {self.draws}: give a "
                "weight above 0, and draws of at least 0"
            )

    def order(self, size: int, epoch: int) -> np.ndarray:
        check_count(self.weights, size, "weights")
        bits = random_bits(self.draws or size, self.seed, epoch)
        uniform = (bits >> np.uint64(11)) * 2.0**-53
        cumulative = np.cumsum(self.weights, dtype=np.float64)
        drawn = uniform * cumulative[-1]
        return np.searchsorted(cumulative, drawn, side="right")

    def shares(self, size: int) -> np.ndarray:
        check_count(self.weights, size, "weights")
        weights = np.asarray(self.weights)
        return weights / weights.sum()

    @property
    def examples(self) -> int:
        return len(self.weights)

    def __repr__(self) -> str:
        weights = numbers_in_short(self.weights)
        return (
            f"WeightedSampler({self.batch_size}, {self.seed}, {weights}, {self.draws})"
        )


def balanced_weights(labels: np.ndarray) -> np.ndarray:
    """A weight for each example, so that all classes that occur have the same probability."""
    _, classes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return 1 / (len(counts) * counts[classes])
