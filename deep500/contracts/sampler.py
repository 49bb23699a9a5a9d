"""The sampler contract: in which order a training run sees its data."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking


class Sampler(Definition):
    """Draws the batches of an epoch: a pure function of the seed and the epoch, so that a run can be resumed.

    A subclass says `order`, or `epoch` if its batches are not just the order cut into pieces. `d5 check sampler` tests
    what the following say about it.

    every_example_once   Whether an epoch has every example exactly once.
    shuffles             Whether the order is random, and another one in every epoch.
    shares(size)         The share of the draws that every example should get; equal shares by default.
    examples             How many examples it is for, if its settings say so (0: any number).
    ranks, for_rank(rank)   Among how many ranks the draws are parted, and the sampler of another one.
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
        """All sizes that batches of these epochs have: what a framework builds for a size is built before the run."""
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
        """For a checkpoint: a resumed run must go on with the same sampler."""
        return {"definition": repr(self)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        if state.get("definition") != repr(self):
            raise Deep500Error(
                f"the checkpoint was made with {str(state.get('definition'))[:99]!r}, and this run has "
                f"{repr(self)!r}"
            )


def batches(order: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """The order cut into batches; the last holds what is left."""
    return (
        order[start : start + batch_size] for start in range(0, len(order), batch_size)
    )


def shuffled(size: int, seed: int, epoch: int) -> np.ndarray:
    """All numbers below `size` in the random order of this seed and epoch.

    Raw random bits, sorted stably: the same order on every machine and with every version of NumPy.
    """
    return np.argsort(random_bits(size, seed, epoch), kind="stable")


def random_bits(count: int, seed: int, epoch: int) -> np.ndarray:
    """64 random bits each."""
    return np.random.Philox(key=[seed, epoch]).random_raw(count)


def numbers_in_short(numbers: Sequence[float]) -> str:
    """Many numbers in the text of a definition: how many there are, and the start of their SHA-256."""
    digest = hashlib.sha256(np.asarray(numbers).tobytes()).hexdigest()
    return f"<{len(numbers)} numbers, sha256 {digest[:16]}>"


def check_count(numbers: Sequence[float], size: int, what: str) -> None:
    """Refuse settings of a sampler that has one number for each example, if there are other examples."""
    if len(numbers) != size:
        raise Deep500Error(
            f"the sampler has {len(numbers)} {what}, and the data have {size} examples: it needs one each"
        )
