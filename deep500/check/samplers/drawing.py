"""The draws of a sampler, made once for all checks."""

from functools import cached_property
from itertools import islice

import numpy as np

from ...contracts.sampler import Sampler
from ...errors import Deep500Error, one_line

MOST_BATCHES = 1_000_000  # of one epoch: an iterator may have no end


class SamplerDraws:
    """The batches of a sampler's epochs over `size` examples."""

    def __init__(self, sampler: Sampler, size: int, epochs: int):
        self.sampler = sampler
        self.size = size
        self.epochs = epochs

    def batches(self, epoch: int, sampler: Sampler | None = None) -> list[np.ndarray]:
        """The batches of one epoch of this sampler, or of another one."""
        chosen = sampler or self.sampler
        name = type(chosen).__name__
        try:
            drawn = chosen.epoch(self.size, epoch)
            batches = list(islice(drawn, MOST_BATCHES))
        except Deep500Error:
            raise
        except Exception as error:  # of a user's own sampler
            reason = one_line(error, kind=True)
            raise Deep500Error(
                f"{name} cannot draw epoch {epoch} of {self.size} examples: {reason}"
            ) from None
        if len(batches) == MOST_BATCHES:
            raise Deep500Error(
                f"epoch {epoch} of {name} has no end: there are {MOST_BATCHES} batches "
                f"of {self.size} examples"
            )
        return [np.asarray(batch) for batch in batches]

    @cached_property
    def first_epochs(self) -> list[list[np.ndarray]]:
        """The batches of a few epochs."""
        return [self.batches(epoch) for epoch in range(3)]

    @cached_property
    def orders(self) -> list[np.ndarray]:
        """The examples of every epoch, in the order in which they are drawn."""
        return [joined(self.batches(epoch)) for epoch in range(self.epochs)]

    @cached_property
    def in_range(self) -> bool:
        """Whether everything that is drawn is the index of an example."""
        return all(is_in_range(order, self.size) for order in self.orders)


def joined(batches: list[np.ndarray]) -> np.ndarray:
    if not batches:
        return np.zeros(0, np.int64)
    return np.concatenate(batches)


def is_in_range(order: np.ndarray, size: int) -> bool:
    """Whether these are indices of `size` examples."""
    if order.dtype.kind not in "iu":
        return False
    if not len(order):
        return True
    if order.min() < 0:
        return False
    return bool(order.max() < size)
