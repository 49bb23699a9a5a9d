"""Batches of examples that are about equally long, so that little is padded."""

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
    """Every example once per epoch. Of every `pool` batches in random order, the examples are sorted by length.

    The sorted examples make the batches, which come in random order again. The examples that do not fill a batch are
    any, and come last.
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
            by_length = examples[np.argsort(lengths[examples], kind="stable")]
            similar += list(batches(by_length, self.batch_size))
        places = np.argsort(
            order
        )  # of every example, to undo the sorting within a batch
        for number in shuffled(len(similar), self.seed, epoch + OTHER_STREAM):
            batch = similar[number]
            yield batch[np.argsort(places[batch])]
        if whole < size:
            yield order[whole:]

    @property
    def examples(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        lengths = numbers_in_short(self.lengths)
        return f"BucketSampler({self.batch_size}, {self.seed}, {lengths}, {self.pool})"


OTHER_STREAM = 1 << 62  # keeps the order of batches apart from the order of examples
