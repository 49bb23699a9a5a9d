"""Clocks of NVIDIA's devices that are locked for as long as a run takes."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from ..errors import Deep500Error, Unsupported
from .machine.host.files import Unavailable
from .machine.host.nvidia import used_devices
from .machine.host.nvml import NotPermitted, Nvml

LEAVE_OUT = "leave --lock-clock out: clocks are recorded for every block"


@contextmanager
def locked_clocks(groups: Sequence[str], mhz: int) -> Iterator[dict[str, int]]:
    """Keep the clock of every device of these groups, such as "pytorch@cuda:0"; the value is MHz by device.

    Raises `Unsupported` if there is no such device, and a Deep500Error if the driver does not permit it.
    """
    if mhz < 1:
        raise Deep500Error(f"--lock-clock {mhz}: give MHz, such as 1410")
    words = sorted({group.partition("@")[2] for group in groups} - {""})
    if not words:
        raise Unsupported(
            f"--lock-clock {mhz} locks the clock of a GPU, and this runs on the host: add --device, or {LEAVE_OUT}"
        )
    with ExitStack() as stack:
        try:
            nvml = stack.enter_context(Nvml())
            for word in words:
                [number] = used_devices(nvml, word)
                nvml.lock_clock(number, mhz)
                stack.callback(_unlock, nvml, number)
        except NotPermitted as reason:
            raise Deep500Error(
                f"the driver does not let this user lock clocks ({reason}): run as root, or {LEAVE_OUT}"
            ) from None
        except Unavailable as reason:
            raise Unsupported(
                f"no clock can be locked ({reason}): {LEAVE_OUT}"
            ) from None
        yield dict.fromkeys(words, mhz)


def _unlock(nvml: Nvml, number: int) -> None:
    with suppress(Unavailable):  # what was measured is worth more than this
        nvml.unlock_clock(number)
