"""The engine's own allreduce: MPI_Allreduce, gloo's, NCCL's."""

import numpy as np

from ..contracts.collective import Collective
from ..contracts.transport import Program, ReduceOp, all_reduce


class Native(Collective):
    """The order in which values are added is the engine's; on virtual ranks it is that of the ranks."""

    def all_reduce(
        self, rank: int, size: int, array: np.ndarray, op: ReduceOp = "sum"
    ) -> Program:
        yield from all_reduce(array, op)
