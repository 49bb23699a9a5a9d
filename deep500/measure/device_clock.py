"""Timing by two clocks: the host's, until every stream of a device is idle, and the device's own, by events."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..errors import Wrong
from .device_event import DeviceEvent

Timer = Callable[[int], int]
# Of the host's time, and in nanoseconds: what launching and waiting may add to the device's own time.
LAUNCH_SHARE = 0.25
LAUNCH_NS = 300_000


class DeviceClock:
    """Marks the beginning and the end of a visit in the device's current stream, and waits for all of its streams."""

    def __init__(
        self,
        event: Callable[[], DeviceEvent | None],
        sync: Callable[[], None],
        prepare: Callable[[], None] | None = None,
    ):
        """`prepare` runs before each visit, outside of its time, and leaves nothing undone on the device."""
        self._event = event
        self._sync = sync
        self._prepare = prepare or sync
        self._start: DeviceEvent | None = None
        self._end: DeviceEvent | None = None

    def begin(self) -> None:
        self._prepare()
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


def check_clocks_agree(names: Sequence[str], blocks: Sequence[Mapping]) -> None:
    """Raise `Wrong` for an entry whose two clocks differ by more than launching and waiting explain."""
    of_device = [block for block in blocks if "device_ns" in block]
    if not of_device:
        return
    orders = np.concatenate([block["orders"] for block in of_device])
    host = np.concatenate([block["ns"] for block in of_device])
    device = np.concatenate([block["device_ns"] for block in of_device])
    for entry, name in enumerate(names):
        host_ns = float(np.median(host[orders == entry]))
        marked_ns = float(np.median(device[orders == entry]))
        if marked_ns and not _agree(host_ns, marked_ns):
            raise Wrong(_disagreement(name, host_ns, marked_ns))


def _agree(host_ns: float, device_ns: float) -> bool:
    allowed_ns = LAUNCH_NS + LAUNCH_SHARE * host_ns
    return abs(host_ns - device_ns) <= allowed_ns


def _disagreement(name: str, host_ns: float, device_ns: float) -> str:
    host, device = f"{host_ns / 1e6:.4g} ms", f"{device_ns / 1e6:.4g} ms"
    if device_ns < host_ns:
        reason = "it works on another stream than the current one, where events do not see it, or it waits for the host"
    else:
        reason = "no device can be busy for longer than the host waits for it: one of the clocks was changed"
    return f"{name} takes {host} until the device is idle, and {device} by its events: {reason}"
