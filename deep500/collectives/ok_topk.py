"""Ok-Topk (Li and Hoefler, 2022): the largest entries of the sum, with O(k) values from every rank."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..contracts.collective_cost import CollectiveCost
from ..contracts.sparse_stream import INDEX, SparseStream, joined, received_stream
from ..contracts.transport import Program, ReduceOp
from ._fill_in import FillIn
from ._merging import merged_in_order
from ._sparse import COPIES, SparseCollective
from ._streams import all_gathered, gather_cost, scatter_cost, scattered
from .recursive_doubling import RecursiveDoubling

SAMPLES = 64  # of the magnitudes of every range, from which the threshold follows


class OkTopk(SparseCollective):
    """As many entries of the sum as ranks have on average, about, and those of largest magnitude.

    Ranges are cut so that ranks have as many entries in each, on average, and their owners add them up. What a rank has
    sent and is not among the result belongs into its residual.
    """

    @property
    def lossy(self) -> bool:
        return True

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        plan = np.append(_quantiles(_indices(stream), size), stream.entries)
        agreement = RecursiveDoubling(tag=self.tag)
        yield from agreement.all_reduce(rank, size, plan)
        plan /= size
        starts = [0, *np.rint(plan[:-1]).astype(np.int64).tolist(), stream.size]
        parts = []
        for start, stop in pairwise(starts):
            parts.append(_sparse(stream.part(start, stop)))
        received = yield from scattered(rank, size, parts, self.tag)
        own = _sparse(merged_in_order(received, op))
        return (yield from self._largest(rank, size, own, plan[-1], starts))

    def _largest(
        self,
        rank: int,
        size: int,
        own: SparseStream,
        wanted: float,
        starts: list[int],
    ) -> Program:
        """The entries of all ranges that are above the threshold of which so many are."""
        magnitudes = np.abs(own.values)
        ascending = np.sort(magnitudes)
        samples = np.append(_quantiles(ascending, SAMPLES + 1), ascending.size)
        every = yield from all_gathered(rank, size, samples.view(np.uint8), self.tag)
        threshold = _threshold([part.view(np.float64) for part in every], wanted)
        is_kept = magnitudes >= threshold
        kept = SparseStream(own.size, own.values[is_kept], _indices(own)[is_kept])
        payloads = yield from all_gathered(rank, size, kept.payload(), self.tag)
        streams = []
        for (start, stop), payload in zip(pairwise(starts), payloads, strict=True):
            streams.append(_unpacked(payload, stop - start, own.dtype))
        return joined(streams)

    def sparse_all_reduce_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        """The most: all entries in the range of one rank."""
        return self._cost(size, count * (4 + gamma))

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        return self._cost(size, entries / size * (4 + gamma))

    def _cost(self, size: int, part: float) -> CollectiveCost:
        """For so many bytes from every rank to every range, and of every range in the result."""
        agreement = RecursiveDoubling().cost("all_reduce", size, size, 8)
        sampled = gather_cost(size, 8 * (SAMPLES + 1))
        cost = agreement.then(scatter_cost(size, part)).then(sampled)
        cost = cost.then(gather_cost(size, part))
        return replace(cost, memory=COPIES * size * part)


def _unpacked(payload: np.ndarray, size: int, dtype: np.dtype) -> SparseStream:
    """The entries of one range, from the bytes of its rank."""
    content = payload.copy()  # in memory that is aligned for any dtype
    entries = content.size // (dtype.itemsize + INDEX.itemsize)
    return received_stream(content, entries, size, dtype)


def _sparse(stream: SparseStream) -> SparseStream:
    """The same with indices, whatever is shorter."""
    if stream.indices is not None:
        return stream
    return SparseStream(stream.size, stream.values, _indices(stream))


def _indices(stream: SparseStream) -> np.ndarray:
    if stream.indices is None:
        return np.arange(stream.size, dtype=INDEX)
    return stream.indices


def _quantiles(ascending: np.ndarray, parts: int) -> np.ndarray:
    """The numbers that cut ascending ones into so many equal parts; zeros if there are none."""
    if not ascending.size:
        return np.zeros(parts - 1)
    places = np.arange(1, parts) * ascending.size // parts
    return ascending[places].astype(np.float64)


def _threshold(samples: list[np.ndarray], wanted: float) -> float:
    """The magnitude above which about so many lie, if every sample stands for as many as the others of its range."""
    magnitudes = np.concatenate([part[:-1] for part in samples])
    weights = np.concatenate([np.full(SAMPLES, part[-1] / SAMPLES) for part in samples])
    order = np.argsort(-magnitudes, kind="stable")
    above = np.cumsum(weights[order])
    place = int(np.searchsorted(above, wanted))
    if place >= order.size:
        return 0.0
    return float(magnitudes[order[place]])
