"""Memory that is shared with worker processes: some slots, each with room for one batch and its indices."""

import ctypes
import mmap
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.augmentation import Spec
from ...errors import Deep500Error

ALIGNMENT = 64  # bytes; what frameworks need to use an array as it is


class Ring:
    """An anonymous mapping: it has no name that could be left behind, and goes with the last process that has it."""

    def __init__(self, specs: Mapping[str, Spec], capacity: int, slots: int):
        self.specs = dict(specs)
        self.capacity = capacity
        self.offsets: dict[str, int] = {}
        end = _aligned(capacity * np.dtype(np.int64).itemsize)
        for name, spec in specs.items():
            if spec.dtype.hasobject:
                raise Deep500Error(
                    f"{name!r} holds Python objects, which workers cannot hand over: use workers=0"
                )
            self.offsets[name] = end
            end += _aligned(capacity * spec.dtype.itemsize * int(np.prod(spec.shape)))
        self.slot_bytes = end
        self.slots = slots
        self.memory = mmap.mmap(-1, slots * end)
        self.free: deque[int] = deque(range(slots))

    def indices(self, slot: int, count: int) -> np.ndarray:
        """The place for the indices of a batch."""
        start = slot * self.slot_bytes
        return np.ndarray((count,), np.int64, self.memory, start)

    def arrays(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """The places for the arrays of a batch."""
        return self._arrays(self.memory, slot * self.slot_bytes, count)

    def lend(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """The arrays of a batch. The slot is free again when nothing refers to any of them any more."""
        buffer = (ctypes.c_char * self.slot_bytes).from_buffer(
            self.memory, slot * self.slot_bytes
        )
        weakref.finalize(buffer, self.free.append, slot)
        return self._arrays(buffer, 0, count)

    def copy(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """Copies of the arrays of a batch; the slot is free at once."""
        copies = {
            name: values.copy() for name, values in self.arrays(slot, count).items()
        }
        self.free.append(slot)
        return copies

    def _arrays(self, buffer: Any, start: int, count: int) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name, spec in self.specs.items():
            shape = (count, *spec.shape)
            place = start + self.offsets[name]
            arrays[name] = np.ndarray(shape, spec.dtype, buffer, place)
        return arrays


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
