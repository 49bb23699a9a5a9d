"""Whether the time by a device's events and the host's time, until all of its streams are idle, tell the same."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from ..errors import Wrong
from .bench_blocks import TimedBlock

# Of the host's time, and in nanoseconds: what launching and waiting may add to the device's own time.
LAUNCH_SHARE = 0.25
LAUNCH_NS = 300_000


def check_clocks_agree(names: Sequence[str], blocks: Sequence[TimedBlock]) -> None:
    """Raise `Wrong` for an entry whose two clocks differ by more than launching and waiting explain."""
    orders: list[int] = []
    host_times: list[int] = []
    device_times: list[int] = []
    for block in blocks:
        if block.device_ns is not None:
            orders += chain.from_iterable(block.orders)
            host_times += chain.from_iterable(block.ns)
            device_times += chain.from_iterable(block.device_ns)
    if not orders:
        return
    entries, host, device = map(np.asarray, (orders, host_times, device_times))
    for entry, name in enumerate(names):
        host_ns = float(np.median(host[entries == entry]))
        marked_ns = float(np.median(device[entries == entry]))
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
