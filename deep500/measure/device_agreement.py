"""Whether the time by a device's events and the host's time, until all of its streams are idle, tell the same."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import Wrong

# Of the host's time, and in nanoseconds: what launching and waiting may add to the device's own time.
LAUNCH_SHARE = 0.25
LAUNCH_NS = 300_000


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
