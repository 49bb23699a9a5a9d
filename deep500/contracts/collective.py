"""The collective contract: an allreduce as a program, with the engine's own or with a schedule of messages."""

import numpy as np

from ..definition import Definition
from ..errors import lacking
from .transport import Program, ReduceOp


class Collective(Definition):
    """A way to reduce arrays over all ranks.

    all_reduce(rank, size, array, op)   A program that replaces the array (of one dimension) by the reduction of all
                                        ranks' arrays; all ranks get the same bits.
    """

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        raise lacking(self, "all_reduce")
