"""One program of every step, for all transports: what it returns is the same on each of them.

As a script, it is one rank of a real transport: python program.py mpi|torch
"""

import json
import os
import sys
from typing import Any

import ml_dtypes  # noqa: F401 - makes "bfloat16" a dtype of NumPy
import numpy as np

from deep500.collectives.ring import Ring
from deep500.contracts.transport import (
    AllReduce,
    Poll,
    Program,
    Recv,
    RecvAny,
    Send,
    Wait,
    WaitAny,
    all_gather,
    all_reduce,
    barrier,
    broadcast,
    receive,
    send,
)


def program(rank: int, size: int) -> Program:
    """Everything once; the result is a JSON document of bits."""
    values = np.random.default_rng(rank).standard_normal(1001)
    results: dict[str, Any] = {}
    ring = values.astype(np.float32)
    yield from Ring().all_reduce(rank, size, ring)
    results["ring"] = ring.tobytes().hex()[:64]
    short = np.arange(1.0)
    yield from Ring().all_reduce(rank, size, short)  # messages without bytes
    first, second = np.full(3, rank), np.full(2, float(rank))
    handles = []
    for array in (first, second):
        handle = yield AllReduce(array)
        handles.append(handle)
    yield Wait(handles)
    results["two at once"] = [first.tolist(), second.tolist()]
    for dtype in ("float16", "bfloat16"):
        short_floats = np.arange(5).astype(dtype) + np.asarray(rank, dtype)
        for op in ("sum", "max"):
            reduced = short_floats.copy()
            yield from all_reduce(reduced, op)
            results[f"{dtype} {op}"] = reduced.astype(float).tolist()
    largest = np.array([rank], np.int64)
    yield from all_reduce(largest, "max")
    results["max"] = largest.tolist()
    shared = np.full(4, rank, np.uint8)
    yield from broadcast(shared, root=size - 1)
    results["broadcast"] = shared.tolist()
    even = yield from all_gather(np.full((2, 1), rank, np.float32))
    uneven = yield from all_gather(np.full(rank, rank, np.int16), uneven=True)
    results["gathered"] = [[a.tolist() for a in even], [a.tolist() for a in uneven]]
    yield from barrier()
    results["any"] = yield from _from_anyone(rank, size)
    results["polled"] = yield from _polled(rank, size)
    return results


def _from_anyone(rank: int, size: int) -> Program:
    if rank:
        yield from send(0, np.full(5, rank, np.float16), tag=7)
        return None
    sources = []
    for _ in range(size - 1):
        handle = yield RecvAny(np.zeros(5, np.float16), tag=7)
        [arrival] = yield Wait([handle])
        assert set(arrival.array.tolist()) == {arrival.source}
        sources.append(arrival.source)
    return sorted(sources)


def _polled(rank: int, size: int) -> Program:
    """Rank 0 waits for any of two messages of rank 1, of which the second is sent when the first is answered."""
    if rank > 1:
        return None
    arrays = [np.zeros(2), np.zeros(2)]
    if rank == 1:
        handle = yield Send(0, arrays[0] + 1, tag=1)
        yield Wait([handle])
        yield from receive(0, arrays[1], tag=2)
        yield from send(0, arrays[0] + 2, tag=3)
        return None
    handles = []
    for tag, array in zip((3, 1), arrays, strict=True):
        handle = yield Recv(1, array, tag)
        handles.append(handle)
    index, array = yield WaitAny(handles)
    unfinished = yield Poll([handles[0]])
    yield from send(1, np.zeros(2), tag=2)
    last = yield Wait([handles[0]])
    return [index, array.tolist(), unfinished, last[0].tolist()]


def main() -> None:
    from deep500 import registry

    transport = registry.named("transports", sys.argv[1])(deadline=60)
    [results] = transport.run(lambda rank: program(rank, transport.size)).values()
    traffic = transport.traffic[transport.rank].to_json()
    line = json.dumps([transport.rank, results, traffic])
    os.write(1, f"{line}\n".encode())  # at once: ranks share this output
    transport.close()


if __name__ == "__main__":
    main()
