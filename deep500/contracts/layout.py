"""The layout contract: where every trained parameter lies in the flat buffers that hold all of them.

There is one buffer per dtype. Parameters and gradients have the same layout, so that communication, codecs and
checksums work on whole buffers and never on single tensors.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .dtypes import bits
from .operator import Tensor

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
BUCKET_BYTES = (
    25 * 2**20
)  # large enough to fill a network, small enough to overlap with backprop


@dataclass(frozen=True)
class Slot:
    """One tensor's place: `offset` and `stop` count elements of the buffer of its dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def stop(self) -> int:
        return self.offset + Tensor(self.shape, self.dtype).size


@dataclass(frozen=True)
class Bucket:
    """Neighbouring slots of one dtype, from element `start` to element `stop`, to be sent as one message."""

    dtype: str
    start: int
    stop: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Names, shapes, dtypes and offsets. Every offset is aligned to 64 bytes; what lies between two slots is zero."""

    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Layout":
        """The tensors one after another, in the order given, each dtype in a buffer of its own."""
        ends: dict[str, int] = {}
        slots = []
        for name, tensor in tensors.items():
            offset = _aligned(ends.get(tensor.dtype, 0), tensor.dtype)
            slots.append(Slot(name, tensor.shape, tensor.dtype, offset))
            ends[tensor.dtype] = slots[-1].stop
        return cls(tuple(slots))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The elements of every dtype's buffer, with the padding behind its last slot."""
        ends: dict[str, int] = {}
        for slot in self.slots:
            ends[slot.dtype] = _aligned(slot.stop, slot.dtype)
        return ends

    def buckets(self, most_bytes: int = BUCKET_BYTES) -> list[Bucket]:
        """The slots in groups of at most so many bytes (or of one slot), last first: as backprop finishes them."""
        groups: list[list[Slot]] = []
        for slot in reversed(self.slots):
            group = groups[-1] if groups else None
            if (
                group
                and group[-1].dtype == slot.dtype
                and _bytes(slot, group[0]) <= most_bytes
            ):
                group.append(slot)
            else:
                groups.append([slot])
        return [_bucket(group[::-1]) for group in groups]

    def zeros(self) -> dict[str, np.ndarray]:
        """New buffers in host memory, aligned to 64 bytes."""
        return {
            dtype: _aligned_zeros(size, dtype) for dtype, size in self.sizes.items()
        }

    def views(self, buffers: Mapping[str, Any]) -> dict[str, Any]:
        """Every tensor as a part of its buffer; works for whatever can be sliced and reshaped."""
        views = {}
        for slot in self.slots:
            views[slot.name] = buffers[slot.dtype][slot.offset : slot.stop].reshape(
                slot.shape
            )
        return views

    def gather(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """New buffers with copies of these arrays."""
        buffers = self.zeros()
        for name, view in self.views(buffers).items():
            np.copyto(view, arrays[name])
        return buffers

    def check(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Refuse buffers that do not have this layout."""
        if buffers.keys() != self.sizes.keys():
            raise Deep500Error(
                f"flat buffers of {', '.join(self.sizes) or 'no dtype'} are needed, and these were given: "
                f"{', '.join(buffers) or 'none'}"
            )
        for dtype, size in self.sizes.items():
            buffer = buffers[dtype]
            if buffer.shape != (size,) or buffer.dtype != np.dtype(dtype):
                raise Deep500Error(
                    f"the flat buffer of {dtype} has {size} elements, and {buffer.dtype}"
                    f"{list(buffer.shape)} was given"
                )


class FlatBuffers(Mapping[str, np.ndarray]):
    """Flat buffers by dtype, which are valid until the executor's next step; using them later is an error."""

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        layout: Layout,
        generation: Callable[[], int],
    ):
        self.layout = layout
        self._arrays = arrays
        self._generation = generation
        self._taken_at = generation()

    def __getitem__(self, dtype: str) -> np.ndarray:
        if self._generation() != self._taken_at:
            raise Deep500Error(
                "these flat buffers are older than the executor's last step: ask the executor for new ones"
            )
        return self._arrays[dtype]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def views(self) -> dict[str, np.ndarray]:
        """Every tensor by name, as a part of its buffer."""
        return self.layout.views(self)


def _item_bytes(dtype: str) -> int:
    return max(1, bits(dtype) // 8)


def _aligned(element: int, dtype: str) -> int:
    """The first element from this one on whose address is a multiple of the alignment."""
    step = ALIGNMENT // _item_bytes(dtype)
    return -(-element // step) * step


def _bytes(first: Slot, last: Slot) -> int:
    return (last.stop - first.offset) * _item_bytes(first.dtype)


def _bucket(slots: list[Slot]) -> Bucket:
    names = tuple(slot.name for slot in slots)
    return Bucket(slots[0].dtype, slots[0].offset, slots[-1].stop, names)


def _aligned_zeros(size: int, dtype: str) -> np.ndarray:
    memory = np.zeros(size * _item_bytes(dtype) + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size * _item_bytes(dtype)].view(dtype)
