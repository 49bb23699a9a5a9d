"""Every example once per epoch, in an order that depends on the seed and the epoch."""

import numpy as np

from ..contracts.sampler import Sampler, shuffled


class ShuffleSampler(Sampler):
    """Shuffles anew for every epoch; the last batch has the remaining examples."""

    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, epoch)
