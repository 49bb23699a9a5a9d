"""Random numbers of generated data: whole numbers until the last division, so the same on every machine."""

import numpy as np

from ..errors import Deep500Error
from ._parts import STREAM, check_seed

STEPS = 1 << 20  # between -1 and 1, in each direction


class RandomBits:
    """A stream of numbers that the seed decides."""

    def __init__(self, seed: int):
        check_seed(seed)
        self.bits = np.random.Philox(key=[seed, STREAM])

    def integers(self, below: int, *shape: int) -> np.ndarray:
        """Whole numbers from 0 to below `below`, which is far smaller than 2**64."""
        raw = self.bits.random_raw(int(np.prod(shape)))
        return (raw % below).astype(np.int64).reshape(shape)

    def uniform(self, *shape: int) -> np.ndarray:
        """Multiples of 2**-20 from -1 to below 1, as float64."""
        return (self.integers(2 * STEPS, *shape) - STEPS) / STEPS


def fifths(size: int) -> dict[str, slice]:
    """Three fifths of the examples for training, one for choosing, one for reporting."""
    if size < 5:
        raise Deep500Error(
            f"size is {size}: three splits of generated data need 5 examples at least"
        )
    fifth = size // 5
    return {
        "train": slice(0, size - 2 * fifth),
        "validation": slice(size - 2 * fifth, size - fifth),
        "test": slice(size - fifth, size),
    }
