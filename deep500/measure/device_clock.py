"""Timing by two clocks: the host's, until every stream of a device is idle, and the device's own, by events.

Standard library only.
"""

from collections.abc import Callable

from .device_event import DeviceEvent

Timer = Callable[[int], int]


class DeviceClock:
    """Marks the beginning and the end of a visit in the device's current stream, and waits for all of its streams."""

    def __init__(
        self,
        event: Callable[[], DeviceEvent | None],
        sync: Callable[[], None],
        prepare: Callable[[], None] | None = None,
        flush: Callable[[], None] | None = None,
    ):
        """Before each visit, outside of its time, `prepare` runs, and then `flush`, which empties the caches."""
        self._event = event
        self._sync = sync
        self._prepare = prepare
        self._flush = flush
        self._start: DeviceEvent | None = None
        self._end: DeviceEvent | None = None

    def begin(self) -> None:
        for function in (self._prepare, self._flush, self._sync):
            if function is not None:
                function()
        self._start = self._event()
        if self._start is not None:
            self._start.record()

    def end(self) -> None:
        self._end = self._event()
        if self._end is not None:
            self._end.record()
        self._sync()

    @property
    def elapsed_ns(self) -> int:
        """Of the last visit; 0 if the device has no clock."""
        if self._start is None or self._end is None:
            return 0
        return max(1, self._start.elapsed_ns(self._end))


class DeviceTimer:
    """A timer whose visits are timed by a device's clock as well."""

    def __init__(self, timer: Timer, clock: DeviceClock):
        self._timer = timer
        self._clock = clock
        self.device_ns = 0  # of the last visit

    def __call__(self, calls: int) -> int:
        elapsed_ns = self._timer(calls)
        self.device_ns = self._clock.elapsed_ns if calls else 0
        return elapsed_ns


def device_ns(timer: Timer | DeviceTimer) -> int:
    """The time of the last visit by the device's clock; 0 where there is none."""
    return timer.device_ns if isinstance(timer, DeviceTimer) else 0
