"""One rank's part of the batches of another sampler."""

from collections.abc import Iterator

import numpy as np

from ..contracts.sampler import Sampler
from ..errors import Deep500Error


class PartitionedSampler(Sampler):
    """Cuts every batch of a sampler into `ranks` pieces that differ by at most one example, and yields that of `rank`.

    Together the ranks draw the same batches as the sampler alone: every example is on exactly one rank, and all ranks
    have the same number of batches. If the last batch has fewer examples than ranks, some ranks get an empty one.
    `batch_size` is the size of the largest piece.
    """

    # a placeholder, since `__init__` requires all three
    sampler: Sampler = Sampler(1)
    rank: int = 0
    ranks: int = 1  # type: ignore[misc]

    def __init__(self, sampler: Sampler, rank: int, ranks: int):
        if ranks < 1 or not 0 <= rank < ranks:
            raise Deep500Error(
                f"rank is {rank} and ranks is {ranks}: a rank is a number from 0 to below their count"
            )
        if sampler.batch_size < ranks:
            raise Deep500Error(
                f"a batch of {sampler.batch_size} examples cannot be cut into {ranks} pieces: make "
                "batch_size larger"
            )
        largest_piece = -(-sampler.batch_size // ranks)
        settings = {
            "batch_size": largest_piece,
            "seed": sampler.seed,
            "sampler": sampler,
            "rank": rank,
            "ranks": ranks,
        }
        for name, value in settings.items():
            object.__setattr__(self, name, value)

    @property
    def every_example_once(self) -> bool:  # type: ignore[override]
        """False for several ranks, since only all of them together have every example."""
        return self.ranks == 1 and self.sampler.every_example_once

    @property
    def shuffles(self) -> bool:  # type: ignore[override]
        return self.sampler.shuffles

    def order(self, size: int, epoch: int) -> np.ndarray:
        return np.concatenate(list(self.epoch(size, epoch)))

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        for batch in self.sampler.epoch(size, epoch):
            pieces = np.array_split(batch, self.ranks)
            yield pieces[self.rank]

    @property
    def examples(self) -> int:
        return self.sampler.examples

    def for_rank(self, rank: int) -> "PartitionedSampler":
        return type(self)(self.sampler, rank, self.ranks)

    def shares(self, size: int) -> np.ndarray:
        return self.sampler.shares(size)

    def __repr__(self) -> str:
        return f"PartitionedSampler({self.sampler!r}, {self.rank}, {self.ranks})"
