"""Memory shared with worker processes: a number of slots, each with room for one batch and its indices."""

import ctypes
import mmap
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.augmentation import Spec
from ...errors import Deep500Error

ALIGNMENT = 64  # bytes; frameworks need it to use an array without a copy


class SharedRing:
    """An anonymous mapping: it leaves no file behind, and is freed with the last process that has it."""

    def __init__(self, specs: Mapping[str, Spec], capacity: int, slots: int):
        self.specs = dict(specs)
        self.capacity = capacity
        self.offsets: dict[str, int] = {}
        index_bytes = np.dtype(np.int64).itemsize
        end = _aligned(capacity * index_bytes)
        for name, spec in specs.items():
            if spec.dtype.hasobject:
                raise Deep500Error(
                    f"{name!r} holds Python objects, which workers cannot hand over: use workers=0"
                )
            self.offsets[name] = end
            example_bytes = spec.dtype.itemsize * int(np.prod(spec.shape))
            end += _aligned(capacity * example_bytes)
        self.slot_bytes = end
        self.slots = slots
        self.memory = mmap.mmap(-1, slots * end)
        self._free: deque[int] = deque(range(slots))
        # slots by the id of a ref
        self._lent: dict[int, tuple[weakref.ref, int]] = {}
        self._returned: deque[weakref.ref] = deque()

    @property
    def free(self) -> deque[int]:
        """The slots that no batch is in."""
        while self._returned:
            reference = self._returned.popleft()
            _, slot = self._lent.pop(id(reference))
            self._free.append(slot)
        return self._free

    def indices(self, slot: int, count: int) -> np.ndarray:
        """The indices of a batch, as a view of the shared memory."""
        start = slot * self.slot_bytes
        return np.ndarray((count,), np.int64, self.memory, start)

    def arrays(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """The arrays of a batch by name, as views of the shared memory."""
        start = slot * self.slot_bytes
        return self._arrays(self.memory, start, count)

    def lend(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """The arrays of a batch. The slot becomes free when nothing refers to any of them any more.

        The callback is not Python code: a Ctrl-C that comes while it runs would be lost.
        """
        start = slot * self.slot_bytes
        buffer_type = ctypes.c_char * self.slot_bytes
        buffer = buffer_type.from_buffer(self.memory, start)
        reference = weakref.ref(buffer, self._returned.append)
        self._lent[id(reference)] = (reference, slot)
        return self._arrays(buffer, 0, count)

    def copy(self, slot: int, count: int) -> dict[str, np.ndarray]:
        """Copies of the arrays of a batch; the slot becomes free at once."""
        arrays = self.arrays(slot, count)
        copies = {name: array.copy() for name, array in arrays.items()}
        self.free.append(slot)
        return copies

    def _arrays(self, buffer: Any, start: int, count: int) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name, spec in self.specs.items():
            shape = (count, *spec.shape)
            offset = start + self.offsets[name]
            arrays[name] = np.ndarray(shape, spec.dtype, buffer, offset)
        return arrays


def _aligned(size: int) -> int:
    """The size, rounded up to a multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT
