"""Words of the report on collectives: sizes, rates, names of algorithms."""

from ...reports.tables import NOTHING, number
from ...reports.text import clean
from .data import LIBRARIES, LIBRARY
from .numbers import CellNumbers

LIBRARY_NAMES = {"mpi": "MPI_Allreduce", "torch": "dist.all_reduce"}
BINARY = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def nbytes(count: float | None) -> str:
    """64 KiB, 400 kB, 8 B."""
    if count is None:
        return NOTHING
    for scale, unit in BINARY:
        if count >= scale and count % scale == 0:
            return f"{count / scale:g} {unit}"
    for scale, unit in ((10**6, "MB"), (10**3, "kB")):
        if count >= scale:
            return f"{number(count / scale)} {unit}"
    return f"{count:g} B"


def rate(per_second: float) -> str:
    """In GB/s, as nccl-tests have it."""
    return f"{per_second / 1e9:.4g}"


def algorithm_name(cell: CellNumbers) -> str:
    """The collective, or the library's function."""
    if cell.algorithm in LIBRARIES:
        name = LIBRARY_NAMES.get(cell.transport, LIBRARY)
        return name if cell.algorithm == LIBRARY else f"{name}, two buffers"
    name = clean(cell.algorithm).removesuffix("()")
    return name if not cell.progress else f"{name}, {cell.progress}"
