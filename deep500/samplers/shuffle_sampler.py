"""Every example once per epoch, in an order that the seed and the epoch decide."""

import numpy as np

from ..contracts.sampler import Sampler, shuffled


class ShuffleSampler(Sampler):
    """Shuffles anew for every epoch; the last batch holds what is left."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, epoch)
