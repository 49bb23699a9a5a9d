"""Which part of the flat buffers each of several servers owns: whole tensors, about equally many bytes."""

from collections.abc import Mapping

import numpy as np

from ..contracts.layout import Layout, Slot
from ..contracts.scheme import Buffers
from ..errors import Deep500Error

Part = dict[str, slice]  # by dtype


def partition(layout: Layout, servers: int) -> list[Part]:
    """A part for every server. A tensor is never cut, so that rules that look at whole tensors stay right."""
    if len(layout.slots) < servers:
        raise Deep500Error(
            f"{servers} servers share {len(layout.slots)} tensors: give at most as many servers as "
            "there are tensors"
        )
    sizes = [_nbytes(slot) for slot in layout.slots]
    middles = np.cumsum(sizes) - np.array(sizes) / 2
    shares = middles * servers // sum(sizes)
    owners = np.minimum(shares, servers - 1).astype(int)
    groups = _without_gaps(list(owners), servers)
    parts: list[Part] = [{} for _ in range(servers)]
    for slot, owner in zip(layout.slots, groups, strict=True):
        part = parts[owner]
        start = part[slot.dtype].start if slot.dtype in part else slot.offset
        part[slot.dtype] = slice(start, slot.stop)
    return parts


def views(buffers: Mapping[str, np.ndarray], part: Part) -> Buffers:
    """The part of every buffer, without a copy."""
    return {dtype: buffers[dtype][span] for dtype, span in part.items()}


def _nbytes(slot: Slot) -> int:
    return (slot.stop - slot.offset) * np.dtype(slot.dtype).itemsize


def _without_gaps(owners: list[int], servers: int) -> list[int]:
    """Every server owns at least one tensor: a server without one takes the next, those behind it move on."""
    count = len(owners)
    owners[0] = 0
    for place in range(1, count):
        owners[place] = min(owners[place], owners[place - 1] + 1)
        tensors_left = count - place
        owners[place] = max(owners[place], servers - tensors_left)
    return owners
