"""The collective contract: operations on the arrays of all ranks as programs, and what each of them costs."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking, unknown
from .collective_cost import CollectiveCost, check_request
from .sparse_stream import SparseStream
from .transport import Program, ReduceOp

OPERATIONS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "broadcast",
    "all_to_all",
    "neighbor_all_gather",
    "sparse_all_reduce",
)
FIRST_TAG = 1 << 16
FUNCTIONS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


class Collective(Definition):
    """An algorithm for operations on arrays of one dimension, which have the same length on all ranks.

    all_reduce(rank, size, array, op)       Replaces the array by the reduction of all ranks' arrays; all ranks get the
                                            same bits.
    reduce_scatter(rank, size, array, op)   The value is the piece of the reduction that this rank gets, as
                                            `numpy.array_split` cuts it: a view of the array, whose rest is spoilt.
    all_gather(rank, size, array)           Each rank has its piece of the array filled in, and gets all others'.
    broadcast(rank, size, array, root)      Replaces the array by the root's.
    all_to_all(rank, size, outgoing, incoming)   Sends outgoing[r] to rank r, and receives incoming[r] from it.
    neighbor_all_gather(rank, size, array)  The value is the arrays of the neighbors in a topology, by rank.
    sparse_all_reduce(rank, size, stream)   The value is the sum of all ranks' streams (sparse_stream.py); all ranks get
                                            the same bits.
    X_cost(size, count, gamma)              The cost of the operation X for arrays of `count` elements of `gamma` bytes.
    check(size)                             Raises a Deep500Error if it cannot run on so many ranks.

    cost_is_bound    Whether the cost depends on the data, and X_cost gives the most that it may be.
    plain_sums       Whether it adds up arrays by `combine`, whose time a fitted network knows.
    lossy            Whether its reductions give a part of the sum, or the sum with noise.

    A subclass writes those that it offers. Two of them run at the same time if their tags differ.
    """

    tag: int = field(default=FIRST_TAG, kw_only=True)
    cost_is_bound: ClassVar[bool] = False
    plain_sums: ClassVar[bool] = True

    @property
    def lossy(self) -> bool:
        return False

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        raise lacking(self, "all_reduce")

    def reduce_scatter(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        raise lacking(self, "reduce_scatter")

    def all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        raise lacking(self, "all_gather")

    def broadcast(
        self, rank: int, size: int, array: np.ndarray, root: int = 0
    ) -> Program:
        raise lacking(self, "broadcast")

    def all_to_all(
        self,
        rank: int,
        size: int,
        outgoing: Sequence[np.ndarray],
        incoming: Sequence[np.ndarray],
    ) -> Program:
        raise lacking(self, "all_to_all")

    def neighbor_all_gather(self, rank: int, size: int, array: np.ndarray) -> Program:
        raise lacking(self, "neighbor_all_gather")

    def sparse_all_reduce(self, rank: int, size: int, stream: SparseStream) -> Program:
        raise lacking(self, "sparse_all_reduce")

    def rotates(self, operation: str, size: int, count: int) -> bool:
        """Whether every rank does what rank 0 does, with all other ranks shifted: simulations then look at one rank."""
        return False

    def check(self, size: int) -> None:
        """By default every number of ranks is accepted."""

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations that this collective offers."""
        return tuple(name for name in OPERATIONS if self._has(name))

    def declares_cost(self, operation: str) -> bool:
        return hasattr(self, f"{operation}_cost")

    def cost(
        self, operation: str, size: int, count: int, gamma: float = 4
    ) -> CollectiveCost:
        """What an operation costs on P ranks for arrays of `count` elements of `gamma` bytes each."""
        if operation not in OPERATIONS:
            raise unknown("operation", operation, OPERATIONS)
        check_request(size, count, gamma)
        if not self._has(operation):
            offered = ", ".join(self.operations) or "none"
            raise Deep500Error(
                f"{type(self).__name__} has no {operation}: it offers {offered}"
            )
        if not self.declares_cost(operation):
            raise lacking(self, f"{operation}_cost")
        self.check(size)
        if size == 1:
            return CollectiveCost()
        formula: Any = getattr(self, f"{operation}_cost")
        return formula(size, count, gamma)

    def _has(self, operation: str) -> bool:
        return getattr(type(self), operation) is not getattr(Collective, operation)


def combine(
    op: ReduceOp, lower: np.ndarray, higher: np.ndarray, out: np.ndarray
) -> None:
    """Reduce two arrays, that of the lower rank first: NaN and -0.0 have the same bits on both ranks then."""
    FUNCTIONS[op](lower, higher, out=out)
