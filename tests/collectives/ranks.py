"""All operations of all collectives, each with a hash of what it gives; as a script, one rank of a real transport.

python ranks.py mpi|torch
"""

import hashlib
import json
import os
import sys
from typing import Any

import numpy as np

from deep500.contracts.collective import Collective
from deep500.contracts.sparse_stream import stream_of
from deep500.contracts.transport import Program
from tests.collectives.runs import WITH_ARRAYS, arrays_of, offered

COUNT = 101


def program(rank: int, size: int) -> Program:
    """The hashes by collective and operation."""
    hashes = {}
    for collective, operation in offered(
        *WITH_ARRAYS, "all_to_all", "sparse_all_reduce"
    ):
        values = yield from _carried_out(collective, operation, rank, size)
        digest = hashlib.sha256()
        for value in values:
            digest.update(value.tobytes())
        hashes[f"{collective} {operation}"] = digest.hexdigest()
    return hashes


def _carried_out(
    collective: Collective, operation: str, rank: int, size: int
) -> Program:
    """The arrays that an operation gives or changes."""
    array = _array(collective, rank, size)
    if operation == "all_to_all":
        outgoing = np.array_split(array, size)
        incoming = [np.empty_like(outgoing[rank]) for _ in outgoing]
        yield from collective.all_to_all(rank, size, outgoing, incoming)
        return incoming
    if operation == "sparse_all_reduce":
        array[rank::3] = 0
        stream = stream_of(array)
        total = yield from collective.sparse_all_reduce(rank, size, stream)
        return [total.dense()]
    value = yield from getattr(collective, operation)(rank, size, array)
    if operation == "reduce_scatter":
        return [value]
    if operation == "neighbor_all_gather":
        return [*value.values()]
    return [array]


def _array(collective: Collective, rank: int, size: int) -> np.ndarray:
    """What an engine adds up has exact sums: it may do so in any order."""
    if type(collective).__name__ == "Native":
        return arrays_of(size, COUNT)[rank]
    random = np.random.default_rng(rank)
    return random.standard_normal(COUNT).astype(np.float32)


def main() -> None:
    from deep500 import registry

    transport = registry.named("transports", sys.argv[1])(deadline=60)
    [hashes] = transport.run(lambda rank: program(rank, transport.size)).values()
    line: list[Any] = [transport.rank, hashes, transport.traffic[transport.rank].bytes]
    os.write(1, f"{json.dumps(line)}\n".encode())  # at once: ranks share this output
    transport.close()


if __name__ == "__main__":
    main()
