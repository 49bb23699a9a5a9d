"""The layout contract: the position of every trained parameter in the flat buffers that hold all of them.

There is one buffer per dtype. Parameters and gradients have the same layout, so that communication, codecs and
checksums work on whole buffers and never on single tensors.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import Deep500Error
from .dtypes import bits
from .operator import TensorSpec

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register
# large enough to fill a network link, small enough to overlap with backprop
BUCKET_BYTES = 25 * 2**20


@dataclass(frozen=True)
class Slot:
    """The position of one tensor: `offset` and `stop` count elements of the buffer of its dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int

    @property
    def stop(self) -> int:
        return self.offset + TensorSpec(self.shape, self.dtype).size


@dataclass(frozen=True)
class Bucket:
    """Neighbouring slots of one dtype, from element `start` to element `stop`, to be sent as one message."""

    dtype: str
    start: int
    stop: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Names, shapes, dtypes and offsets. Every offset is aligned to 64 bytes; the padding between two slots is zero."""

    slots: tuple[Slot, ...]

    @classmethod
    def of(cls, tensors: Mapping[str, TensorSpec]) -> "Layout":
        """The tensors one after another, in the order given, each dtype in a buffer of its own."""
        ends: dict[str, int] = {}
        slots = []
        for name, tensor in tensors.items():
            dtype = tensor.dtype
            offset = _aligned(ends.get(dtype, 0), dtype)
            slot = Slot(name, tensor.shape, dtype, offset)
            slots.append(slot)
            ends[dtype] = slot.stop
        return cls(tuple(slots))

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of elements of every dtype's buffer, with the padding after its last slot."""
        ends: dict[str, int] = {}
        for slot in self.slots:
            ends[slot.dtype] = _aligned(slot.stop, slot.dtype)
        return ends

    def buckets(self, most_bytes: int = BUCKET_BYTES) -> tuple[Bucket, ...]:
        """The slots in groups of at most so many bytes (or of one slot), last first, the order of backprop."""
        if most_bytes not in self._buckets:
            self._buckets[most_bytes] = self._new_buckets(most_bytes)
        return self._buckets[most_bytes]

    @cached_property
    def _buckets(self) -> dict[int, tuple[Bucket, ...]]:
        """Those that were asked for before: a scheme asks in every step."""
        return {}

    def _new_buckets(self, most_bytes: int) -> tuple[Bucket, ...]:
        groups: list[list[Slot]] = []
        for slot in reversed(self.slots):
            if groups and _fits_bucket(slot, groups[-1], most_bytes):
                groups[-1].append(slot)
            else:
                groups.append([slot])
        return tuple(_bucket(group[::-1]) for group in groups)

    def zeros(self) -> dict[str, np.ndarray]:
        """New buffers in host memory, aligned to 64 bytes."""
        sizes = self.sizes
        return {dtype: _aligned_zeros(size, dtype) for dtype, size in sizes.items()}

    @cached_property
    def padding(self) -> tuple[tuple[str, slice], ...]:
        """The parts of the buffers that belong to no slot, with their dtypes."""
        ends: dict[str, int] = {}
        parts = []
        for slot in self.slots:
            end = ends.get(slot.dtype, 0)
            if slot.offset > end:
                parts.append((slot.dtype, slice(end, slot.offset)))
            ends[slot.dtype] = slot.stop
        for dtype, end in ends.items():
            if self.sizes[dtype] > end:
                parts.append((dtype, slice(end, self.sizes[dtype])))
        return tuple(parts)

    def clear_padding(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Set the padding to zero, where a codec that decodes zeros as something else may have left numbers."""
        for dtype, part in self.padding:
            buffers[dtype][part] = 0

    def views(self, buffers: Mapping[str, Any]) -> dict[str, Any]:
        """Every tensor as a part of its buffer; the buffers may be anything that can be sliced and reshaped."""
        views = {}
        for slot in self.slots:
            flat = buffers[slot.dtype][slot.offset : slot.stop]
            views[slot.name] = flat.reshape(slot.shape)
        return views

    def gather(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """New buffers with copies of these arrays."""
        buffers = self.zeros()
        for name, view in self.views(buffers).items():
            np.copyto(view, arrays[name])
        return buffers

    def check(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Raise a Deep500Error if buffers do not have this layout."""
        if not isinstance(buffers, Mapping):
            raise Deep500Error(
                f"flat buffers by dtype are needed, and {type(buffers).__name__} was given"
            )
        if buffers.keys() != self.sizes.keys():
            expected_dtypes = ", ".join(self.sizes) or "no dtype"
            actual_dtypes = ", ".join(buffers) or "none"
            raise Deep500Error(
                f"flat buffers of {expected_dtypes} are needed, and these were given: "
                f"{actual_dtypes}"
            )
        for dtype, size in self.sizes.items():
            buffer = buffers[dtype]
            if buffer.shape != (size,) or buffer.dtype != np.dtype(dtype):
                shape = list(buffer.shape)
                raise Deep500Error(
                    f"the flat buffer of {dtype} has {size} elements, and {buffer.dtype}"
                    f"{shape} was given"
                )


class BucketQueue:
    """Reports buckets in their order, each as soon as its tensors and those of all earlier buckets have been added.

    All ranks thus report them in the same order, whatever the order in which tensors are added.
    """

    def __init__(self, buckets: Sequence[Bucket], report: Callable[[Bucket], None]):
        self._report = report
        self._waiting = deque(buckets)
        self._missing: set[str] = set()
        for bucket in buckets:
            self._missing.update(bucket.names)

    def add(self, name: str) -> None:
        """Note that a tensor is final, and report the buckets that are now complete."""
        self._missing.discard(name)
        waiting = self._waiting
        while waiting and self._missing.isdisjoint(waiting[0].names):
            self._report(waiting.popleft())


class FlatBuffers(Mapping[str, np.ndarray]):
    """Flat buffers by dtype that are valid until the executor's next step; using them later is an error."""

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


def _fits_bucket(slot: Slot, group: Sequence[Slot], most_bytes: int) -> bool:
    """Whether a slot can join a group of slots that come after it; the group is in reverse order."""
    if group[-1].dtype != slot.dtype:
        return False
    elements = group[0].stop - slot.offset
    return elements * _item_bytes(slot.dtype) <= most_bytes


def _bucket(slots: list[Slot]) -> Bucket:
    names = tuple(slot.name for slot in slots)
    return Bucket(slots[0].dtype, slots[0].offset, slots[-1].stop, names)


def _aligned_zeros(size: int, dtype: str) -> np.ndarray:
    length = size * _item_bytes(dtype)
    memory = np.zeros(length + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + length].view(dtype)
