"""The clock of a subject that is timed on a device."""

from collections.abc import Callable

from ..contracts.framework import Framework
from ..errors import Unsupported
from ..measure.device_clock import DeviceClock


def device_clock(
    framework: Framework, cold: bool, prepare: Callable[[], None] | None = None
) -> DeviceClock:
    """Events and waits of the device; before each visit, `prepare` runs, and then the caches are emptied if `cold`."""
    flush = framework.cold_caches() if cold else None
    if cold and flush is None:
        raise Unsupported(
            f"{framework.word} has no way to empty the caches of its device: leave --cache cold out"
        )
    return DeviceClock(framework.event, framework.sync, prepare, flush)
