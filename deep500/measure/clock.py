"""The clock: what reading it costs, how finely it ticks, and how many calls make an interval worth timing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

# Reading the clock may cost this share of a timed interval. Five per cent is the limit of good practice (SC'15);
# one per cent keeps a batched call within 2 % of timeit, which amortises its clock over a fifth of a second.
CLOCK_SHARE = 0.01
# units in which the kernel gives the sizes of caches
SHIFTS = {"K": 10, "M": 20}
now = time.perf_counter_ns


@dataclass(frozen=True)
class Clock:
    name: str
    resolution_ns: int
    overhead_ns: int

    @property
    def shortest_ns(self) -> int:
        """The shortest interval in which the clock's own cost and tick are small enough."""
        return round(max(self.overhead_ns, self.resolution_ns) / CLOCK_SHARE)

    def calls_for(self, once_ns: float) -> int:
        """How many calls of about once_ns each make an interval that is long enough."""
        call_ns = max(1, round(once_ns))
        rounded_up = -(-self.shortest_ns // call_ns)
        return max(1, rounded_up)


def calibrate(reads: int = 2001) -> Clock:
    """Measure the clock by itself: median cost of a reading, smallest step seen."""
    stamps = [now() for _ in range(reads)]
    steps = sorted(after - before for before, after in pairwise(stamps))
    median = steps[len(steps) // 2]
    smallest = next((step for step in steps if step > 0), 1)
    return Clock("perf_counter_ns", smallest, median)


def last_level_bytes(
    caches: Path = Path("/sys/devices/system/cpu/cpu0/cache"),
) -> int:
    """The size of the largest cache; 64 MiB where the system does not say."""
    sizes = []
    for path in caches.glob("index*/size"):
        size = path.read_text().strip()  # such as 32768K
        shift = SHIFTS.get(size[-1:])
        if shift is not None:
            sizes.append(int(size[:-1]) << shift)
    return max(sizes, default=64 << 20)


def cold_caches(last_level_bytes: int) -> Callable[[], None]:
    """A function that evicts all data from the caches by copying twice the size of the last level."""
    size = last_level_bytes * 2
    source = bytes(size)
    target = bytearray(size)

    def flush() -> None:
        target[:] = source

    return flush
