"""Measures the memory that PyTorch's allocators hand out: the host's by the profiler, a device's by its statistics."""

import gc
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import torch
from torch._C._profiler import _EventType

from ...errors import Unsupported
from ...measure.allocations import Allocations

# what the statistics of a device's allocator are called
IN_USE = "allocated_bytes.all.current"
PEAK = "allocated_bytes.all.peak"
MARK = "deep500: what counts begins here"


class PyTorchAllocations(Allocations):
    """The memory of PyTorch's tensors and of NumPy's arrays, in whose flat buffers the parameters are."""

    def __enter__(self) -> Self:
        self._profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            profile_memory=True,
        )
        self._profiler.__enter__()
        return super().__enter__()

    def mark(self) -> None:
        super().mark()
        with torch.profiler.record_function(MARK):
            pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self._profiler.__exit__(kind, error, trace)
        if error is None:
            self.peak = self._host + self._highest()

    def _highest(self) -> int:
        """The peak of PyTorch's own memory after the last mark."""
        events = sorted(self._events(), key=lambda event: event[0])
        level = highest = 0
        for _, nbytes in events:
            if nbytes is None:
                highest = level
            else:
                level += nbytes
                highest = max(highest, level)
        return highest

    def _events(self) -> Iterator[tuple[int, int | None]]:
        """Yield (time, bytes) for each allocation, negative for a release, and (time, None) for each mark."""
        profiler: Any = self._profiler.profiler
        stack: list[Any] = list(profiler.kineto_results.experimental_event_tree())
        while stack:
            event = stack.pop()
            stack += event.children
            if event.tag == _EventType.Allocation:
                yield event.start_time_ns, event.extra_fields.alloc_size
            elif event.name == MARK:
                yield event.start_time_ns, None


class DeviceAllocations(Allocations):
    """The memory of a device, by its own allocator; nothing of the host counts."""

    def __init__(self, device: str):
        super().__init__()
        self._device = device
        self._before = 0

    def __enter__(self) -> Self:
        self._before = self._statistic(IN_USE)
        self.mark()
        return self

    def mark(self) -> None:
        gc.collect()
        torch.accelerator.synchronize(self._device)
        torch.accelerator.reset_peak_memory_stats(self._device)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.peak = self._statistic(PEAK) - self._before

    def _statistic(self, name: str) -> int:
        statistics = torch.accelerator.memory_stats(self._device)
        if name not in statistics:
            raise Unsupported(
                f"the allocator of {self._device} does not tell how much it has handed out"
            )
        return int(statistics[name])
