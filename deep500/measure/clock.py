"""The clock: what reading it costs, how finely it ticks, and how many calls make an interval worth timing."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

# Reading the clock may cost this share of a timed interval. Five per cent is the limit of good practice (SC'15);
# one per cent keeps a batched call within 2 % of timeit, which amortises its clock over a fifth of a second.
CLOCK_SHARE = 0.01
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
        return max(1, -(-self.shortest_ns // max(1, round(once_ns))))


def calibrate(reads: int = 2001) -> Clock:
    """Measure the clock by itself: median cost of a reading, smallest step seen."""
    stamps = [now() for _ in range(reads)]
    steps = sorted(b - a for a, b in pairwise(stamps))
    positive = [s for s in steps if s > 0] or [1]
    return Clock("perf_counter_ns", positive[0], steps[len(steps) // 2])


def last_level_bytes(caches: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """The size of the largest cache; 64 MiB where the system does not say."""
    sizes = [path.read_text().strip() for path in caches.glob("index*/size")]
    return max(
        (
            int(size[:-1]) << {"K": 10, "M": 20}[size[-1]]
            for size in sizes
            if size[-1:] in ("K", "M")
        ),
        default=64 << 20,
    )


def cold_caches(last_level_bytes: int) -> Callable[[], None]:
    """A function that drives the caches out by copying twice the last level's size through them."""
    source, target = bytes(last_level_bytes * 2), bytearray(last_level_bytes * 2)

    def flush() -> None:
        target[:] = source

    return flush
