"""Batches whose size follows a schedule (Smith et al., 2018)."""

from collections.abc import Iterator

import numpy as np

from ..contracts.sampler import Sampler, shuffled
from ..contracts.schedule import Schedule
from ..errors import Deep500Error


class ScheduledSampler(Sampler):
    """Shuffles anew for every epoch; the batch of a step has `batch_size` times the schedule's value of examples.

    `ScheduledSampler(64, schedule=schedules.Piecewise((100,), (1, 2)))` takes 64 examples in each of the first 100
    steps, and 128 from then on. The last batch of an epoch has the remaining examples.
    """

    schedule: Schedule | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.schedule, Schedule):
            raise Deep500Error(
                f"the schedule of ScheduledSampler is {self.schedule!r}: give a definition of "
                "d5.schedules, as in schedules.Piecewise((100,), (1, 2))"
            )

    def order(self, size: int, epoch: int) -> np.ndarray:
        return shuffled(size, self.seed, epoch)

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        """Index arrays of the batches of one epoch; their sizes depend on the number of steps before it."""
        order = self.order(size, epoch)
        first_step = self._steps_before(size, epoch)
        start = 0
        for count in self._sizes(size, first_step):
            yield order[start : start + count]
            start += count

    def batch_sizes(self, size: int, epochs: int) -> list[int]:
        sizes: dict[int, None] = {}
        step = 0
        for _ in range(epochs):
            counts = list(self._sizes(size, step))
            sizes.update(dict.fromkeys(counts))
            step += len(counts)
        return [*sizes]

    def _sizes(self, size: int, step: int) -> Iterator[int]:
        """The sizes of the batches of one epoch that begins after `step` steps."""
        remaining = size
        while remaining > 0:
            step += 1
            count = min(self._size_of(step), remaining)
            remaining -= count
            yield count

    def _size_of(self, step: int) -> int:
        assert self.schedule is not None
        size = self.batch_size * self.schedule.number(step)
        return max(1, round(size))

    def _steps_before(self, size: int, epoch: int) -> int:
        step = 0
        for _ in range(epoch):
            step += sum(1 for _ in self._sizes(size, step))
        return step
