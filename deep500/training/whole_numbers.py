"""Sums over leaves as whole numbers, and the errors for what cannot be added."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.executor import Executor
from ..contracts.leaves import Leaves
from ..contracts.transport import Program
from ..errors import Deep500Error
from ..reductions.fixed_point import add_rounded

# replaces arrays of whole numbers by their sums over all ranks
Reduce = Callable[[Sequence[np.ndarray]], Program]


class LeafSums:
    """Adds numbers as multiples of one unit; what does not fit is an error that names it."""

    def __init__(self, leaves: Leaves, limit: float, watch: Any):
        self.leaves = leaves
        self.watch = watch
        self.fraction = leaves.fraction
        self.limit = limit

    def fits(self, values: np.ndarray, total: np.ndarray, weight: float = 1) -> bool:
        scale = weight * 2.0**self.fraction
        return add_rounded(values, total, scale, self.limit)

    def add(
        self, subject: str, values: np.ndarray, total: np.ndarray, weight: float
    ) -> None:
        if not self.fits(values, total, weight):
            error = self.error(subject, values)
            if error is not None:
                raise error

    def error(self, subject: str, values: np.ndarray) -> Deep500Error | None:
        """Why these values cannot be added; None if they can."""
        largest = float(np.abs(values).max(initial=0.0))
        if largest < self.limit * 2.0**-self.fraction:
            return None
        return beyond_range(subject, largest, self.limit, self.leaves)


def beyond_range(
    subject: str, largest: float, limit: float, leaves: Leaves
) -> Deep500Error:
    """The error for a number that is too large, with what to choose."""
    if not np.isfinite(largest):
        return Deep500Error(
            f"{subject} has numbers that are not finite ({largest}), which reproducible sums do not take: the training "
            "has diverged"
        )
    bits = int(np.floor(np.log2(limit))) - int(np.frexp(largest)[1])
    return Deep500Error(
        f"{subject} has {largest:g}, and reproducible sums with {leaves.fraction} bits behind the point take "
        f"numbers below {limit * 2.0**-leaves.fraction:g}: give {bits} bits or fewer, as in --reproducible "
        f"{leaves.rows},{bits}"
    )


def whole_zeros(executor: Executor) -> dict[str, np.ndarray]:
    """A whole number for every element of the trained parameters."""
    sizes = executor.layout.sizes
    return {dtype: np.zeros(size, np.int64) for dtype, size in sizes.items()}


def parts_to_send(
    executor: Executor, totals: Mapping[str, np.ndarray], bucket_bytes: int | None
) -> list[np.ndarray]:
    """What is sent together: everything, or buckets."""
    if bucket_bytes is None:
        return [*totals.values()]
    parts = []
    for bucket in executor.layout.buckets(bucket_bytes):
        parts.append(totals[bucket.dtype][bucket.start : bucket.stop])
    return parts
