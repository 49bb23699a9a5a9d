"""The kernels that find a machine's peaks: matrix product, and copy, add and triad over arrays beyond the caches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated

from ...errors import TooFewSamples
from ...schema import Between, Share
from ..machine.host.files import HostFiles, Unavailable, whole
from ..machine.host.memory import memory_available
from ..sensing.others import allowed_cpus

PositiveRate = Annotated[float, Between(1e-300, 1e300)]
GEMM_SIZES = (256, 512, 1024, 2048, 4096)
# Elements: what triad's first pass writes is still in a cache for its second.
CHUNK = 2**17
# Of the arrays, one per run: short runs find a quiet moment, and all others pass before its turn comes.
PIECES = 4
ENOUGH = 6  # values: the fewest that have an interval of their median
MIB = 2**20
UNITS = {"K": 2**10, "M": MIB}


@dataclass(frozen=True)
class Peak:
    """The best of `n` repetitions of `what`, and beside it their median with its interval: what is usual."""

    value: PositiveRate
    unit: str
    what: str
    n: int = 0
    median: PositiveRate | None = None
    low: PositiveRate | None = None
    high: PositiveRate | None = None
    note: str = ""
    # the share of the CPUs that others used meanwhile, if it is known
    others: Share | None = None
    measured: str = ""  # when

    def __post_init__(self) -> None:
        if self.median is not None and self.median > self.value:
            raise ValueError("a best value that is not below the median")

    @property
    def uncertainty(self) -> float:
        """The share by which the true peak may lie above `value`: the noise of the repetitions, 5 to 50 %."""
        noise = 0.0
        if self.median:
            noise = self.value / self.median - 1
        return min(max(noise, 0.05), 0.5)


def gemm_peak(dtype: str, seconds: float) -> Peak:
    """flop/s of numpy's matrix product (2 n³ flop) with as many threads as its BLAS takes, at its best size."""
    end = perf_counter() + seconds
    rates: dict[int, list[float]] = {}
    runs = {}
    for size in GEMM_SIZES:
        expected = 0.0
        if rates:
            half = size // 2
            expected = 8 * 2 * half**3 / max(rates[half])
        if 4 * expected > (end - perf_counter()) / 2:
            break
        runs[size] = _matrix_product(size, dtype)
        runs[size]()  # wakes the threads and touches the memory
        rates[size] = [2 * size**3 / runs[size]()]
    best = min(rates)
    while perf_counter() < end or len(rates[best]) < ENOUGH:
        # in turn: a disturbance must not choose the size
        sizes = list(runs) if perf_counter() < end else [best]
        for size in sizes:
            until = perf_counter() + seconds / 50
            while perf_counter() < until:
                rates[size].append(2 * size**3 / runs[size]())
        best = max(rates, key=lambda size: max(rates[size]))
    what = f"matmul of {best} x {best} {dtype}"
    return peak_of(rates[best], "flop/s", what)


def bandwidth_peak(seconds: float) -> Peak:
    """B/s of the best of copy, add and triad, counted as STREAM does: what the kernel must load and store."""
    end = perf_counter() + seconds
    threads = len(allowed_cpus())
    size, note = _array_size()
    with ThreadPoolExecutor(threads) as pool:
        kernels = _stream_kernels(pool, threads, size // 8)
        rates: dict[str, list[float]] = {name: [] for name in kernels}
        while perf_counter() < end or len(rates["copy"]) < ENOUGH:
            for name, (run, arrays) in kernels.items():
                rates[name].append(arrays * size / PIECES / run())
    best = max(rates, key=lambda name: max(rates[name]))
    mebibytes = size // MIB
    what = f"{best} over arrays of {mebibytes} MiB in {threads} threads"
    return peak_of(rates[best], "B/s", what, note)


def _matrix_product(size: int, dtype: str) -> Callable[[], float]:
    import numpy as np

    random = np.random.default_rng(0)
    kind = np.dtype(dtype).type
    a = random.random((size, size), dtype=kind) - 0.5
    b = random.random((size, size), dtype=kind) - 0.5
    c = np.empty_like(a)

    def run() -> float:
        start = perf_counter()
        np.matmul(a, b, out=c)
        return perf_counter() - start

    return run


def _stream_kernels(
    pool: ThreadPoolExecutor, threads: int, length: int
) -> dict[str, tuple[Callable[[], float], int]]:
    """For each kernel a timed run over one piece in all threads, and how many arrays it moves."""
    import numpy as np

    a = np.empty(length)
    b = np.empty(length)
    c = np.empty(length)
    pieces = _pieces(length, threads)
    turn = itertools.cycle(pieces)

    def touch(part: slice) -> None:
        # by the thread that will use it, so that it lies in that thread's memory
        a[part], b[part], c[part] = 0.0, 1.0, 2.0

    def copy(part: slice) -> None:
        np.copyto(a[part], b[part])

    def add(part: slice) -> None:
        np.add(b[part], c[part], out=a[part])

    def triad(part: slice) -> None:
        for start in range(part.start, part.stop, CHUNK):
            stop = min(start + CHUNK, part.stop)
            chunk = slice(start, stop)
            np.multiply(c[chunk], 3.0, out=a[chunk])
            np.add(a[chunk], b[chunk], out=a[chunk])

    def timed(kernel: Callable[[slice], None]) -> Callable[[], float]:
        def run() -> float:
            piece = next(turn)
            start = perf_counter()
            for _ in pool.map(kernel, piece):
                pass
            return perf_counter() - start

        return run

    for _ in pieces:
        timed(touch)()
    return {
        "copy": (timed(copy), 2),
        "add": (timed(add), 3),
        "triad": (timed(triad), 3),
    }


def _pieces(length: int, threads: int) -> list[list[slice]]:
    """The pieces of an array, each with one part for every thread; the parts of the pieces alternate."""
    count = PIECES * threads
    cuts = [i * length // count for i in range(count + 1)]
    parts = list(map(slice, cuts[:-1], cuts[1:]))
    return [parts[first::PIECES] for first in range(PIECES)]


def _array_size() -> tuple[int, str]:
    """Bytes of one array, four times the last-level caches if memory allows, and a note if it is another size."""
    host = HostFiles()
    try:
        cache = _last_level_caches(host)
        available = memory_available(host) * 2**30
        room = int(available / 8)
    except Unavailable as error:
        return (
            256 * MIB,
            f"the size of the caches or the memory is unknown ({error})",
        )
    beyond_caches = max(4 * cache, 64 * MIB)
    size = min(beyond_caches, room, 1024 * MIB)
    size = max(size, MIB) // MIB * MIB
    if size >= beyond_caches:
        return size, ""
    mebibytes = beyond_caches // MIB
    return size, f"four times the last-level caches would be {mebibytes} MiB"


def _last_level_caches(host: HostFiles) -> int:
    """Bytes of all caches of the highest level."""
    sizes: dict[tuple[int, str], int] = {}
    for folder in host.glob("/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"):
        size = host.line(f"{folder}/size")  # such as 32768K
        unit = UNITS.get(size[-1], 1)
        level = host.number(f"{folder}/level")
        cpus = host.line(f"{folder}/shared_cpu_list")
        count = whole(size.rstrip("KM"), f"{folder}/size")
        sizes[level, cpus] = unit * count
    if not sizes:
        raise Unavailable("no cache is listed in /sys")
    last = max(level for level, _ in sizes)
    total = 0
    for (level, _), cache_size in sizes.items():
        if level == last:
            total += cache_size
    return total


def peak_of(rates: list[float], unit: str, what: str, note: str = "") -> Peak:
    """The best of the rates, with their median and its interval."""
    import numpy as np

    from ..statistics.intervals import interval

    low = high = None
    try:
        of_median = interval(rates)
        low = of_median.low
        high = of_median.high
    except TooFewSamples as error:
        reason = f"no interval: {error}"
        note = f"{note}; {reason}" if note else reason
    return Peak(
        value=max(rates),
        unit=unit,
        what=what,
        n=len(rates),
        median=float(np.median(rates)),
        low=low,
        high=high,
        note=note,
    )
