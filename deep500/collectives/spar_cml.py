"""SparCML (Renggli et al., 2019): the sparse or dense algorithm that is predicted to be the fastest."""

from dataclasses import dataclass, replace

import numpy as np

from ..contracts.codec import Codec
from ..contracts.collective import Collective
from ..contracts.collective_cost import CollectiveCost
from ..contracts.loggp import LogGP
from ..contracts.sparse_stream import SparseStream, check_numbers
from ..contracts.transport import Program, ReduceOp
from ._fill_in import FillIn
from ._sparse import SparseAllReduce, SparseCollective
from .dsar_split_all_gather import DSARSplitAllGather
from .rabenseifner import Rabenseifner
from .recursive_doubling import RecursiveDoubling
from .ssar_recursive_doubling import SSARRecursiveDoubling
from .ssar_split_all_gather import SSARSplitAllGather


@dataclass(frozen=True)
class AlgorithmChoice:
    """What was predicted before a reduction, and what came.

    entries     That a rank has at most; `union` is what was expected of the sum, and `came` what it had.
    seconds     Predicted, by the name of the algorithm; the chosen one has the fewest.
    """

    chosen: str
    entries: int
    union: float
    seconds: dict[str, float]
    came: int = 0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The number of the algorithm in the order of `seconds`, its seconds, and the expected and the real union."""
        number = [*self.seconds].index(self.chosen)
        return number, self.seconds[self.chosen], self.union, self.came


class SparCML(SparseAllReduce):
    """Chooses by P, density and expected fill-in, with the LogGP parameters of the network.

    `per_merged_byte` are the seconds that merging takes for a byte, and `codec` shortens the dense half of DSAR. The
    fill-in is that of independent places, unless the union of an earlier reduction is given to `switched`.
    """

    network: LogGP = LogGP()
    # of benchmarks/sparse_merging.py: 1.7 ns for an entry of 8 bytes
    per_merged_byte: float = 2e-10
    codec: Codec | None = None

    @property
    def lossy(self) -> bool:
        return self.codec is not None

    @property
    def candidates(self) -> dict[str, Collective]:
        candidates = (
            SSARRecursiveDoubling(tag=self.tag),
            SSARSplitAllGather(tag=self.tag),
            DSARSplitAllGather(codec=self.codec, tag=self.tag),
            Rabenseifner(tag=self.tag),
        )
        return {type(candidate).__name__: candidate for candidate in candidates}

    def check(self, size: int) -> None:
        DSARSplitAllGather(codec=self.codec).check(size)

    def choose(
        self,
        size: int,
        count: int,
        entries: int,
        union: int | None = None,
        gamma: float = 4,
    ) -> AlgorithmChoice:
        """The algorithm with the fewest predicted seconds; `union` is the number of entries of the sum, if known."""
        seconds = {}
        for name, candidate in self.candidates.items():
            if isinstance(candidate, SparseCollective):
                cost = candidate.expected_cost(size, count, entries, union, gamma)
            else:
                cost = candidate.cost("all_reduce", size, count, gamma)
            seconds[name] = cost.seconds(self.network, self.per_merged_byte)
        expected = FillIn(count, entries)(size) if union is None else union
        chosen = min(seconds, key=lambda name: seconds[name])
        return AlgorithmChoice(chosen, entries, expected, seconds)

    def switched(
        self, rank: int, size: int, stream: SparseStream, union: int | None = None
    ) -> Program:
        """The sum and the AlgorithmChoice; `union` is that of an earlier sum like this one, the same on all ranks."""
        check_numbers(stream.values, stream.indices)
        return (yield from self._switched(rank, size, stream, "sum", union))

    def reduced(
        self, rank: int, size: int, stream: SparseStream, op: ReduceOp
    ) -> Program:
        result, _ = yield from self._switched(rank, size, stream, op, None)
        return result

    def _switched(
        self,
        rank: int,
        size: int,
        stream: SparseStream,
        op: ReduceOp,
        union: int | None,
    ) -> Program:
        # all ranks must choose the same
        entries = np.array([stream.entries], np.int64)
        agreement = RecursiveDoubling(tag=self.tag)
        yield from agreement.all_reduce(rank, size, entries, "max")
        gamma = stream.dtype.itemsize
        choice = self.choose(size, stream.size, int(entries[0]), union, gamma)
        algorithm = self.candidates[choice.chosen]
        if isinstance(algorithm, SparseCollective):
            result = yield from algorithm.reduced(rank, size, stream, op)
        else:
            array = stream.dense()
            yield from algorithm.all_reduce(rank, size, array, op)
            result = SparseStream(stream.size, array)
        return result, _with_result(choice, result)

    def sparse_all_reduce_cost(
        self, size: int, count: int, gamma: float
    ) -> CollectiveCost:
        """The time without zeros, and the most that any candidate sends: which one is taken depends on the data."""
        agreement = RecursiveDoubling().cost("all_reduce", size, 1, 8)
        costs = [
            candidate.cost("all_reduce", size, count, gamma)
            for candidate in self.candidates.values()
        ]
        return replace(
            super().sparse_all_reduce_cost(size, count, gamma),
            messages=max(cost.messages for cost in costs) + agreement.messages,
            bytes=max(cost.bytes for cost in costs) + agreement.bytes,
            memory=max(cost.memory for cost in costs),
        )

    def stream_cost(
        self, size: int, count: int, entries: int, union: FillIn, gamma: float
    ) -> CollectiveCost:
        agreement = RecursiveDoubling().cost("all_reduce", size, 1, 8)
        whole = round(union(size))
        known = min(max(whole, entries), count)
        choice = self.choose(size, count, entries, known, gamma)
        algorithm = self.candidates[choice.chosen]
        if isinstance(algorithm, SparseCollective):
            cost = algorithm.stream_cost(size, count, entries, union, gamma)
        else:
            cost = algorithm.cost("all_reduce", size, count, gamma)
        return agreement.then(cost)


def _with_result(choice: AlgorithmChoice, result: SparseStream) -> AlgorithmChoice:
    """The choice with the number of entries that came; of a dense sum those that are not zero."""
    came = result.entries
    if result.indices is None:
        came = int(np.count_nonzero(result.values))
    return replace(choice, came=int(came))
