"""The kernels that find a machine's peaks: matrix product, and copy, add and triad over arrays beyond the caches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

from ...errors import TooFewSamples
from ..machine.host.files import Host, Unavailable, whole
from ..machine.host.memory import memory_available
from ..sensing.others import allowed_cpus

GEMM_SIZES = (256, 512, 1024, 2048, 4096)
CHUNK = (
    2**17
)  # elements: what triad's first pass writes is still in a cache for its second
PIECES = 4  # of the arrays, one per run: short runs find a quiet moment, and all others pass before its turn comes
ENOUGH = 6  # values: the fewest that have an interval of their median
MIB = 2**20


@dataclass(frozen=True)
class Peak:
    """The best of `n` repetitions of `what`, and beside it their median with its interval: what is usual."""

    value: float
    unit: str
    what: str
    n: int = 0
    median: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""
    others: float | None = (
        None  # the share of the CPUs that others used meanwhile, if it is known
    )
    measured: str = ""  # when

    @property
    def uncertainty(self) -> float:
        """By which share the true peak may lie above `value`: the noise that was seen, 5 to 50 %."""
        return min(max(self.value / self.median - 1 if self.median else 0.0, 0.05), 0.5)


def gemm_peak(dtype: str, seconds: float) -> Peak:
    """flop/s of numpy's matrix product (2 n³ flop) with as many threads as its BLAS takes, at its best size."""
    end = perf_counter() + seconds
    rates: dict[int, list[float]] = {}
    runs = {}
    for size in GEMM_SIZES:
        expected = 8 * 2 * (size // 2) ** 3 / max(rates[size // 2]) if rates else 0.0
        if 4 * expected > (end - perf_counter()) / 2:
            break
        runs[size] = _matrix_product(size, dtype)
        runs[size]()  # wakes the threads and touches the memory
        rates[size] = [2 * size**3 / runs[size]()]
    best = min(rates)
    while perf_counter() < end or len(rates[best]) < ENOUGH:
        for size in (
            runs if perf_counter() < end else [best]
        ):  # in turn: a disturbance must not choose the size
            until = perf_counter() + seconds / 50
            while perf_counter() < until:
                rates[size].append(2 * size**3 / runs[size]())
        best = max(rates, key=lambda size: max(rates[size]))
    return _peak(rates[best], "flop/s", f"matmul of {best} x {best} {dtype}")


def bandwidth_peak(seconds: float) -> Peak:
    """B/s of the best of copy, add and triad, counted as STREAM does: what the kernel must load and store."""
    end = perf_counter() + seconds
    threads, (size, note) = len(allowed_cpus()), _array_size()
    with ThreadPoolExecutor(threads) as pool:
        kernels = _stream_kernels(pool, threads, size // 8)
        rates: dict[str, list[float]] = {name: [] for name in kernels}
        while perf_counter() < end or len(rates["copy"]) < ENOUGH:
            for name, (run, arrays) in kernels.items():
                rates[name].append(arrays * size / PIECES / run())
    best = max(rates, key=lambda name: max(rates[name]))
    what = f"{best} over arrays of {size // MIB} MiB in {threads} threads"
    return _peak(rates[best], "B/s", what, note)


def _matrix_product(size: int, dtype: str) -> Callable[[], float]:
    import numpy as np

    random = np.random.default_rng(0)
    a, b = (
        random.random((size, size), dtype=np.dtype(dtype).type) - 0.5 for _ in range(2)
    )
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

    a, b, c = (np.empty(length) for _ in range(3))
    cuts = [i * length // (PIECES * threads) for i in range(PIECES * threads + 1)]
    pieces = [
        list(map(slice, cuts[i:-1:PIECES], cuts[i + 1 :: PIECES]))
        for i in range(PIECES)
    ]
    turn = itertools.cycle(pieces)

    def touch(
        part: slice,
    ) -> (
        None
    ):  # by the thread that will use it, so that it lies in that thread's memory
        a[part], b[part], c[part] = 0.0, 1.0, 2.0

    def copy(part: slice) -> None:
        np.copyto(a[part], b[part])

    def add(part: slice) -> None:
        np.add(b[part], c[part], out=a[part])

    def triad(part: slice) -> None:
        for start in range(part.start, part.stop, CHUNK):
            chunk = slice(start, min(start + CHUNK, part.stop))
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


def _array_size() -> tuple[int, str]:
    """Bytes of one array: four times the last-level caches, within reason; a note where that cannot be had."""
    host = Host()
    try:
        cache = _last_level_caches(host)
        room = int(memory_available(host) * 2**30 / 8)
    except Unavailable as error:
        return 256 * MIB, f"the size of the caches or the memory is unknown ({error})"
    wanted = max(4 * cache, 64 * MIB)
    size = max(min(wanted, room, 1024 * MIB), MIB) // MIB * MIB
    return (
        size,
        ""
        if size >= wanted
        else f"four times the last-level caches would be {wanted // MIB} MiB",
    )


def _last_level_caches(host: Host) -> int:
    """Bytes of all caches of the highest level."""
    found: dict[tuple[int, str], int] = {}
    for folder in host.glob("/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"):
        size = host.line(f"{folder}/size")  # such as 32768K
        unit = {"K": 2**10, "M": 2**20}.get(size[-1], 1)
        place = host.number(f"{folder}/level"), host.line(f"{folder}/shared_cpu_list")
        found[place] = unit * whole(size.rstrip("KM"), f"{folder}/size")
    if not found:
        raise Unavailable("no cache is listed in /sys")
    last = max(level for level, _ in found)
    return sum(size for (level, _), size in found.items() if level == last)


def _peak(rates: list[float], unit: str, what: str, note: str = "") -> Peak:
    import numpy as np

    from ..statistics.intervals import interval

    low = high = None
    try:
        found = interval(rates)
        low, high = found.low, found.high
    except TooFewSamples as error:
        note = "; ".join(filter(None, [note, f"no interval: {error}"]))
    return Peak(
        max(rates), unit, what, len(rates), float(np.median(rates)), low, high, note
    )
