"""Every example once per epoch, in an order that the seed and the epoch decide."""

from collections.abc import Iterator

import numpy as np

from ..contracts.sampler import Sampler, batches


class ShuffleSampler(Sampler):
    """Shuffles anew for every epoch; the last batch holds what is left."""

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        """Raw random bits of (seed, epoch), sorted stably: the same order on every machine and version of NumPy."""
        bits = np.random.Philox(key=[self.seed, epoch]).random_raw(size)
        return batches(np.argsort(bits, kind="stable"), self.batch_size)
