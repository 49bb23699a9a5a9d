"""Batches of examples of similar length, so that little padding is needed."""

from collections.abc import Iterator

import numpy as np

from ..contracts.sampler import (
    Sampler,
    batches,
    check_count,
    numbers_in_short,
    shuffled,
)
from ..errors import Deep500Error


class BucketSampler(Sampler):
    """Every example once per epoch, in batches of similar length.

    The examples of every `pool` batches of a random order are sorted by length and cut into batches, which are then
    shuffled. The examples that do not fill a batch are of any length, and come last.
    """

    lengths: tuple[int, ...] = ()
    pool: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lengths or self.pool < 1:
            raise Deep500Error(
                f"BucketSampler has {len(self.lengths)} lengths and a pool of {self.pool}: it needs the "
                "length of every example, and a pool of 1 batch at least"
            )

    def order(self, size: int, epoch: int) -> np.ndarray:
        return np.concatenate(list(self.epoch(size, epoch)))

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        check_count(self.lengths, size, "lengths")
        lengths = np.asarray(self.lengths)
        order = shuffled(size, self.seed, epoch)
        whole = size - size % self.batch_size
        similar = []
        for examples in batches(order[:whole], self.pool * self.batch_size):
            length_order = np.argsort(lengths[examples], kind="stable")
            by_length = examples[length_order]
            similar += list(batches(by_length, self.batch_size))
        # the position of every example in the random order, to undo the sorting within a batch
        positions = np.argsort(order)
        for number in shuffled(len(similar), self.seed, epoch + OTHER_STREAM):
            batch = similar[number]
            random_order = np.argsort(positions[batch])
            yield batch[random_order]
        if whole < size:
            yield order[whole:]

    @property
    def examples(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        lengths = numbers_in_short(self.lengths)
        return f"BucketSampler({self.batch_size}, {self.seed}, {lengths}, {self.pool})"


# keeps the order of batches apart from the order of examples
OTHER_STREAM = 1 << 62
