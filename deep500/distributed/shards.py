"""How a batch is divided between ranks: neighbouring rows, the first ranks one more where it does not divide evenly."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..contracts.dataset import Split
from ..contracts.sampler import Sampler
from ..errors import Deep500Error


class Shard(NamedTuple):
    """One rank's part of a batch. A rank without rows has one row to compute with, which counts nothing."""

    batch: Mapping[str, Any]
    size: int
    first_row: int
    global_size: int


def bounds(rows: int, index: int, count: int, grain: int = 1) -> tuple[int, int]:
    """The first row of a part and the one behind its last, as `numpy.array_split` has them; in whole grains."""
    each, more = divmod(-(-rows // grain), count)
    first = index * each + min(index, more)
    stop = first + each + (index < more)
    return min(first * grain, rows), min(stop * grain, rows)


def shards(
    train: Split,
    sampler: Sampler,
    epoch: int,
    index: int,
    count: int,
    skip: int = 0,
    grain: int = 1,
) -> Iterator[Shard]:
    """The parts of one epoch's batches for number `index` of `count` ranks, without the first `skip` batches.

    Every rank draws the same batches, by the same seed, and reads its own rows only.
    """
    for indices in islice(sampler.epoch(len(train), epoch), skip, None):
        yield shard_of(train, indices, epoch, index, count, grain)


def shard_of(
    train: Split,
    indices: np.ndarray,
    epoch: int,
    index: int,
    count: int,
    grain: int = 1,
) -> Shard:
    """One rank's part of the batch with these examples; in whole leaves of `grain` rows."""
    first, stop = bounds(len(indices), index, count, grain)
    rows = indices[first:stop] if stop > first else indices[:1]
    return Shard(train.batch(rows, epoch), stop - first, first, len(indices))


def check_ranks(train: Split, batch_size: int, trainers: Sequence[int]) -> None:
    """Refuse more ranks than there are examples for."""
    count = len(trainers)
    if count > len(train):
        raise Deep500Error(
            f"{count} ranks train on {len(train)} examples: give at most {len(train)} ranks"
        )
    if count > batch_size:
        raise Deep500Error(
            f"{count} ranks share a batch of {batch_size} examples: give at most {batch_size} "
            f"ranks, or a batch_size of {count} or more"
        )
