"""Whether the time by a device's events and the host's time, until all of its streams are idle, tell the same.

Work that events do not see is missing in every visit. A busy machine takes the CPU away from the host in some of them:
between the beginning of the clock and the first launch, or when the device has finished and the host should wake up.
So where others use the CPUs, or where that is not known, the visits that agree best are judged.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from ..errors import Wrong
from .bench_blocks import TimedBlock
from .sensing.others import BUSY

Rounds = Sequence[Sequence[int]]
# Of the host's time, and in nanoseconds: what launching and waiting may add to the device's own time.
LAUNCH_SHARE = 0.25
LAUNCH_NS = 300_000
USUAL = (
    0.5  # the visit that is judged, where all are sorted by how well their clocks agree
)
BEST = 0.1
ENOUGH = 10  # visits, so that some of them are hardly ever disturbed


def check_clocks_agree(names: Sequence[str], blocks: Sequence[TimedBlock]) -> None:
    """Raise `Wrong` for an entry whose two clocks differ by more than launching, waiting and other processes explain.

    On a busy machine, nothing is said about an entry with few visits so far.
    """
    timed = [block for block in blocks if block.device_ns is not None]
    if not timed:
        return
    entries = _in_one(block.orders for block in timed)
    host = _in_one(block.ns for block in timed)
    device = _in_one(block.device_ns or () for block in timed)
    others = _others(timed)
    for entry, name in enumerate(names):
        visits = (entries == entry) & (device > 0)
        count = int(visits.sum())
        if count == 0 or (_is_busy(others) and count < ENOUGH):
            continue
        judged = USUAL if others is not None and not _is_busy(others) else BEST
        _check_entry(name, host[visits], device[visits], judged)


def _check_entry(
    name: str, host: np.ndarray, device: np.ndarray, judged: float
) -> None:
    allowed = LAUNCH_NS + LAUNCH_SHARE * host
    # above 0 where a visit's clocks disagree
    unseen = host - device - allowed
    impossible = device - host - allowed
    for excess in (unseen, impossible):
        if np.quantile(excess, judged, method="lower") > 0:
            host_ns, device_ns = float(np.median(host)), float(np.median(device))
            raise Wrong(_disagreement(name, host_ns, device_ns, excess is unseen))


def _in_one(blocks: Iterable[Rounds]) -> np.ndarray:
    """The numbers of all visits of the rounds of all blocks."""
    rounds = chain.from_iterable(blocks)
    return np.array([*chain.from_iterable(rounds)])


def _others(blocks: Sequence[TimedBlock]) -> float | None:
    """The largest share of the CPUs that others used during a block; None if no block tells."""
    shares = [block.load.others for block in blocks if block.load is not None]
    return max(shares, default=None)


def _is_busy(others: float | None) -> bool:
    return others is not None and others > BUSY


def _disagreement(name: str, host_ns: float, device_ns: float, is_unseen: bool) -> str:
    host, device = f"{host_ns / 1e6:.4g} ms", f"{device_ns / 1e6:.4g} ms"
    if is_unseen:
        reason = "it works on another stream than the current one, where events do not see it, or it waits for the host"
    else:
        reason = "no device can be busy for longer than the host waits for it: one of the clocks was changed"
    return f"{name} takes {host} until the device is idle, and {device} by its events: {reason}"
