"""Hogwild! (Recht et al., 2011): ranks of one machine update the same memory without locks."""

import os
import tempfile
from pathlib import Path

import numpy as np

from ..contracts.layout import Layout
from ..contracts.scheme import Buffers, Scheme, Worker, backprop, update
from ..contracts.transport import Program, all_reduce, barrier, broadcast
from ..errors import Deep500Error
from ._averaging import copies

LONGEST_PATH = 512
MEMORY_FOLDER = Path("/dev/shm")


class Hogwild(Scheme):
    """Every step reads the shared parameters, and adds what the local optimizer did to them.

    Ranks do not wait for each other, so that updates may overwrite parts of each other: results differ from run to run
    on real processes, and are reproducible on virtual ranks. Every rank takes whole steps, so that P ranks do P updates
    where allreduce does one.
    """

    @property
    def averages(self) -> bool:
        return False  # every rank takes whole steps

    def epoch(self, worker: Worker) -> Program:
        shared = yield from _map_shared(worker)
        for _ in worker.batches():
            before = copies(shared)
            worker.set_params(before)
            yield from backprop(worker)
            yield from update(worker)
            for dtype, buffer in worker.params().items():
                shared[dtype] += buffer - before[dtype]
        yield from barrier()
        worker.set_params(copies(shared))


def _map_shared(worker: Worker) -> Program:
    """Memory that all ranks share, with the parameters of rank 0; it is freed when the last rank lets go of it."""
    path = np.zeros(LONGEST_PATH, np.uint8)
    if worker.rank == 0:
        _write_path(path, _create_file(worker.layout, worker.params()))
    yield from broadcast(path)
    name = Path(path.tobytes().rstrip(b"\0").decode())
    visible = np.array([name.is_file()], np.int64)
    yield from all_reduce(visible, "min")
    if not visible[0]:
        raise Deep500Error(
            "Hogwild needs ranks that share memory, and some do not see that of rank 0: run all of "
            "them on one machine"
        )
    buffers = _map_file(worker.layout, name)
    yield from barrier()
    if worker.rank == 0:
        name.unlink()
    return buffers


def _create_file(layout: Layout, params: Buffers) -> Path:
    folder = MEMORY_FOLDER if os.access(MEMORY_FOLDER, os.W_OK) else None
    descriptor, name = tempfile.mkstemp(prefix="deep500-hogwild-", dir=folder)
    with os.fdopen(descriptor, "wb") as file:
        for dtype in layout.sizes:
            file.write(params[dtype].tobytes())
    return Path(name)


def _write_path(array: np.ndarray, path: Path) -> None:
    encoded = str(path).encode()
    array[: len(encoded)] = np.frombuffer(encoded, np.uint8)


def _map_file(layout: Layout, path: Path) -> Buffers:
    buffers = {}
    offset = 0
    for dtype, size in layout.sizes.items():
        mapped = np.memmap(path, dtype, "r+", offset, (size,))
        buffers[dtype] = np.asarray(mapped)
        offset += mapped.nbytes
    return buffers
