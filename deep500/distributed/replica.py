"""One rank's replica of a network: what a scheme's program works on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..contracts.executor import Executor, Values
from ..contracts.layout import Bucket, Layout
from ..contracts.optimizer import Optimizer
from ..contracts.scheme import Buffers
from ..errors import Deep500Error
from .shards import Shard

Clock = Callable[[], float]


class StepRecord(NamedTuple):
    """One step of one rank: its loss, its seconds, of these those spent waiting and loading data, and its rows."""

    loss: Any
    seconds: float
    waiting: float
    loading: float
    size: int


class Replica:
    """An executor with an optimizer, as rank `rank` of `size`; see contracts/scheme.py for what each method does.

    `steps` are those of this epoch; their losses are native until someone converts them. `after_step` is called when a
    step is done.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        executor: Executor,
        optimizer: Optimizer,
        loss: str = "loss",
    ):
        self.rank = rank
        self.size = size
        self.executor = executor
        self.loss = loss
        self.training_step = executor.training_step(optimizer, y=loss)
        self.state: dict[str, Any] = {}
        self.shards: Iterable[Shard] = ()
        self.shard: Shard | None = None
        self.clock: Clock = float
        self.waited: Clock = float
        self.after_step: Callable[[Replica, Values], None] | None = None
        self.steps: list[StepRecord] = []
        self.series: dict[str, list[float]] = {}
        self._outputs: Values = {}
        self._began = 0.0
        self._loading = 0.0
        self._waited_before = 0.0

    @property
    def layout(self) -> Layout:
        return self.executor.layout

    @property
    def seed(self) -> int:
        return self.executor.seed

    @property
    def step_count(self) -> int:
        return self.training_step.count

    @property
    def batch_size(self) -> int:
        return self._taken().size

    @property
    def global_batch_size(self) -> int:
        return self._taken().global_size

    @property
    def first_row(self) -> int:
        return self._taken().first_row

    def batches(self) -> Iterator[int]:
        for number, shard in enumerate(self._timed(iter(self.shards))):
            self.shard = shard
            yield number

    def _timed(self, shards: Iterator[Shard]) -> Iterator[Shard]:
        """The shards; a step begins when its shard is asked for."""
        while True:
            self._began, self._waited_before = self.clock(), self.waited()
            shard = next(shards, None)
            if shard is None:
                return
            self._loading = self.clock() - self._began
            yield shard

    def backprop(self) -> Values:
        shard = self._taken()
        self._outputs = self.training_step.backprop(
            shard.batch, shard.first_row
        )
        return self._outputs

    def backprop_in_buckets(
        self, buckets: Sequence[Bucket], ready: Callable[[np.ndarray], None]
    ) -> Buffers:
        shard = self._taken()
        self._outputs, gradients = self.training_step.backprop_in_buckets(
            shard.batch, buckets, ready, shard.first_row
        )
        return dict(gradients)

    def whole_step(self) -> None:
        shard = self._taken()
        self._outputs = self.training_step(shard.batch, shard.first_row)
        self._finish_step()

    def update(self) -> None:
        self.training_step.update()
        self._finish_step()

    def skip_update(self) -> None:
        self.training_step.count += 1  # random operators draw by it
        self._finish_step()

    def record_step(self, outputs: Values) -> None:
        """Record a step that something else has done, with its outputs."""
        self._outputs = outputs
        self.skip_update()

    def apply(self, gradients: Buffers) -> None:
        self.training_step.apply(gradients)

    def gradients(self) -> Buffers:
        return dict(self.executor.flat_gradients())

    def set_gradients(self, buffers: Buffers) -> None:
        self.executor.load_flat_gradients(buffers)

    def params(self) -> Buffers:
        return dict(self.executor.flat_params())

    def set_params(self, buffers: Buffers) -> None:
        self.executor.load_flat_params(buffers)

    def record(self, series: str, value: float) -> None:
        self.series.setdefault(series, []).append(float(value))

    def _taken(self) -> Shard:
        if self.shard is None:
            raise Deep500Error(
                f"rank {self.rank} has taken no batch: use worker.batches() first"
            )
        return self.shard

    def _finish_step(self) -> None:
        record = StepRecord(
            self._outputs[self.loss],
            self.clock() - self._began,
            self.waited() - self._waited_before,
            self._loading,
            self._taken().size,
        )
        self.steps.append(record)
        if self.after_step is not None:
            self.after_step(self, self._outputs)

    def optimizer_state(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        return self.training_step.state()

    def load_optimizer_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.training_step.load_state(state)
