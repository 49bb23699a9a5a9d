"""The sampler contract: the order in which a training run sees its data."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Sampler(Definition):
    """Draws the batches of an epoch: a pure function of the seed and the epoch, so that a run can be resumed.

    A subclass implements `order`, or `epoch` if its batches are not simply consecutive parts of the order. It declares
    the following properties, which `d5 check sampler` tests:

    every_example_once   Whether an epoch has every example exactly once.
    shuffles             Whether the order is random and different in every epoch.
    shares(size)         The share of the draws that every example should get; equal shares by default.
    examples             The number of examples that it is for, if its settings fix it (0: any number).
    ranks, for_rank(rank)   The number of ranks that share the draws, and the sampler of another rank.
    """

    batch_size: int
    seed: int = 0
    every_example_once: ClassVar[bool] = True
    shuffles: ClassVar[bool] = True
    ranks: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 1 or not 0 <= self.seed < 2**63:
            raise Deep500Error(
                f"batch_size is {self.batch_size} and seed is {self.seed}: a sampler needs a batch_size "
                "of at least 1 and a seed from 0 to 2**63 - 1"
            )

    def order(self, size: int, epoch: int) -> np.ndarray:
        """The indices of all examples of one epoch over `size` examples, in their order."""
        raise lacking(self, "order")

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        """Index arrays of the batches of one epoch over `size` examples; the last may be smaller."""
        return batches(self.order(size, epoch), self.batch_size)

    def batch_sizes(self, size: int, epochs: int) -> list[int]:
        """All sizes that batches of these epochs have, so that frameworks can build for each size before the run."""
        sizes = [min(self.batch_size, size), size % self.batch_size]
        return [count for count in dict.fromkeys(sizes) if count]

    def shares(self, size: int) -> np.ndarray:
        return np.full(size, 1 / size)

    @property
    def examples(self) -> int:
        return 0

    def for_rank(self, rank: int) -> "Sampler":
        return self

    def state(self) -> dict[str, Any]:
        """The state for a checkpoint: a resumed run must use the same sampler."""
        return {"definition": repr(self)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        actual = repr(self)
        recorded = state.get("definition")
        if recorded != actual:
            shown = str(recorded)[:99]
            raise Deep500Error(
                f"the checkpoint was made with {shown!r}, and this run has {actual!r}"
            )


def batches(order: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """The order cut into batches; the last one may be smaller."""
    starts = range(0, len(order), batch_size)
    return (order[start : start + batch_size] for start in starts)


def shuffled(size: int, seed: int, epoch: int) -> np.ndarray:
    """All numbers below `size` in the random order of this seed and epoch.

    It sorts raw random bits stably: the order is the same on every machine and with every version of NumPy.
    """
    bits = random_bits(size, seed, epoch)
    return np.argsort(bits, kind="stable")


def random_bits(count: int, seed: int, epoch: int) -> np.ndarray:
    """An array of 64-bit random integers."""
    return np.random.Philox(key=[seed, epoch]).random_raw(count)


def numbers_in_short(numbers: Sequence[float]) -> str:
    """A short text for many numbers in the repr of a definition: their count and the start of their SHA-256."""
    data = np.asarray(numbers).tobytes()
    digest = hashlib.sha256(data).hexdigest()[:16]
    return f"<{len(numbers)} numbers, sha256 {digest}>"


def check_count(numbers: Sequence[float], size: int, noun: str) -> None:
    """Raise a Deep500Error if a sampler with one number for each example has too few or too many for the data."""
    count = len(numbers)
    if count != size:
        raise Deep500Error(
            f"the sampler has {count} {noun}, and the data have {size} examples: it needs one each"
        )
