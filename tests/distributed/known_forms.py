"""Ranks that call collectives of forms that all know, at the wrong time: python -m tests.distributed.known_forms mpi

Nobody waits in vain, and MPI says nothing: only a comparison after the epoch can find it.
"""

import os
import sys

import numpy as np

from deep500.contracts.scheme import Worker
from deep500.contracts.transport import CollectiveMismatch, Program, all_reduce
from deep500.distributed.communication import process_transport
from deep500.schemes.all_reduce import AllReduce

from .training import distributed


class Uneven(AllReduce):
    """Reduces 10 numbers, then 11; in the third step one rank swaps them."""

    def step(self, worker: Worker) -> Program:
        lengths = [10, 11]
        if worker.step_count == 2 and worker.rank == 1:
            lengths.reverse()
        for length in lengths:
            yield from all_reduce(np.zeros(length))
        yield from super().step(worker)


def main() -> None:
    transport = process_transport(sys.argv[1], 60.0)
    run = distributed(Uneven(), transport=transport, epochs=1)
    try:
        run.run()
    except CollectiveMismatch as mismatch:
        os.write(1, f"{mismatch}\n".encode())  # at once: ranks share this output
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
