"""Whether a timer waits for the device: how its time grows with latency that the simulated device injects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..frameworks.pytorch import simulated_device

# each far above what a launch costs, so that the host is never what the device waits for
LATENCIES_S = (0.001, 0.002, 0.004)
Work = Callable[[], object]


@dataclass(frozen=True)
class DelayedTime:
    """What a timer says of a run, and by how much its kernels were held up by the device's own ledger."""

    seconds: float
    delay_s: float


# Seconds of one run of the work; it may run it more often. A timer that runs other kernels too, which a busy machine
# may hold up for another time, returns a DelayedTime, with the delay of the work alone by `simulated_device.ledger`.
Timer = Callable[[], float | DelayedTime]


def kernels_of(work: Work) -> int:
    """How many kernels a run of the work has, after one that sets up what is set up once."""
    work()
    with simulated_device.counting() as counts:
        work()
    return counts.kernels


def delayed_time(timer: Timer, kernels: int, latency_s: float) -> DelayedTime:
    """One reading of the timer while every kernel takes so much longer.

    A kernel is held up for longer than the latency on a busy machine: what the device has measured counts.
    """
    with simulated_device.latency(latency_s), simulated_device.counting() as counts:
        reading = timer()
    if isinstance(reading, DelayedTime):
        return reading
    mean_delay_s = counts.delay_ns / counts.kernels / 1e9
    return DelayedTime(reading, kernels * mean_delay_s)


def delay_slope(times: Sequence[DelayedTime]) -> float:
    """Seconds that a timer sees of every second by which kernels are held up: 1 for one that waits for all of them.

    A slope between latencies cancels what a run without latency hides behind launches.
    """
    count = len(times)
    mean_delay_s = sum(time.delay_s for time in times) / count
    mean_s = sum(time.seconds for time in times) / count
    products = 0.0
    squares = 0.0
    for time in times:
        distance_s = time.delay_s - mean_delay_s
        products += distance_s * (time.seconds - mean_s)
        squares += distance_s**2
    return products / squares
