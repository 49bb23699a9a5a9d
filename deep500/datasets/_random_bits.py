"""Random numbers for generated data: integers until the last division, and so the same on every machine."""

import numpy as np

from ..errors import Deep500Error
from ._parts import STREAM, check_seed

STEPS = 1 << 20  # from 0 to 1 and from 0 to -1


class RandomBits:
    """A stream of random numbers that depends on the seed only."""

    def __init__(self, seed: int):
        check_seed(seed)
        self.bits = np.random.Philox(key=[seed, STREAM])

    def integers(self, below: int, *shape: int) -> np.ndarray:
        """Whole numbers from 0 to below `below`, which is far smaller than 2**64."""
        count = int(np.prod(shape))
        raw = self.bits.random_raw(count)
        return (raw % below).astype(np.int64).reshape(shape)

    def uniform(self, *shape: int) -> np.ndarray:
        """Multiples of 2**-20 from -1 to below 1, as float64."""
        integers = self.integers(2 * STEPS, *shape)
        return (integers - STEPS) / STEPS


def fifths(size: int) -> dict[str, slice]:
    """The rows of the splits: three fifths for training, one for validation, one for test."""
    if size < 5:
        raise Deep500Error(
            f"size is {size}: three splits of generated data need 5 examples at least"
        )
    fifth = size // 5
    train_end = size - 2 * fifth
    validation_end = size - fifth
    return {
        "train": slice(0, train_end),
        "validation": slice(train_end, validation_end),
        "test": slice(validation_end, size),
    }
