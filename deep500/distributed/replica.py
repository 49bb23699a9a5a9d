"""One rank's replica of a network: what a scheme's program works on."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..contracts.executor import Executor, Values
from ..contracts.layout import Bucket, Layout
from ..contracts.optimizer import Optimizer
from ..contracts.scheme import Buffers
from ..contracts.transport import Program
from ..errors import Deep500Error
from ..training.reproducible_step import ReproducibleStep
from ..training.reproducible_step import Share as LeafShare
from ..training.steps import training_step
from ..training.whole_numbers import Reduce
from .shards import Shard

Clock = Callable[[], float]


class Charge(Protocol):
    """Tells a virtual clock of so many examples of backprop, or so many updates."""

    def __call__(self, examples: int = 0, updates: int = 0) -> None: ...


def _uncharged(examples: int = 0, updates: int = 0) -> None:
    """Time that passes by itself is not charged."""


class StepRecord(NamedTuple):
    """One step of one rank: its loss, its seconds, of these those spent waiting and loading data, and its rows."""

    loss: Any
    seconds: float
    waiting: float
    loading: float
    size: int


class Replica:
    """An executor with an optimizer, as rank `rank` of `size`; see contracts/scheme.py for what each method does.

    A step goes from batch to batch: what a scheme does before its update and after it, until it asks for the next
    batch, is a part of it. The first step begins with the epoch and the last one ends with it, so that the steps'
    seconds add up to those of the epoch. `steps` are those of this epoch; their losses are native until someone
    converts them. `after_step` is called when a step is done; what it takes is in no step's time.
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
        self.training_step = training_step(executor, optimizer, loss)
        self.state: dict[str, Any] = {}
        self.shards: Iterable[Shard] = ()
        self.shard: Shard | None = None
        self.clock: Clock = float
        self.waited: Clock = float
        self.charge: Charge = _uncharged
        self.sends_from_device = False
        self._copies_before = 0
        self.after_step: Callable[[Replica, Values], None] | None = None
        self.steps: list[StepRecord] = []
        self.series: dict[str, list[float]] = {}
        self._outputs: Values = {}
        # outputs of an update that is not recorded yet
        self._step_outputs: Values | None = None
        self._start_clocks()

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

    @property
    def copies_to_host(self) -> int | None:
        """How often flat buffers left the device in this epoch; None where they are in the host's memory."""
        if self.executor.framework.on_host:
            return None
        return self.executor.copies["to host"] - self._copies_before

    def begin_epoch(self, shards: Iterable[Shard]) -> None:
        """Forget the epoch before; from now on, time belongs to the first step of this one."""
        self.shards = shards
        self.executor.framework.sync()  # what a device still does belongs to no step
        self._copies_before = self.executor.copies["to host"]
        self.steps.clear()
        self.series.clear()
        self._step_outputs = None
        self._start_clocks()

    def end_epoch(self) -> None:
        """Add what the scheme did after its last batch to the last step."""
        self._end_step()
        if self.steps:
            last = self.steps[-1]
            self.steps[-1] = last._replace(
                seconds=last.seconds + self.clock() - self._began,
                waiting=last.waiting + self.waited() - self._waited_before,
            )

    def batches(self) -> Iterator[int]:
        shards = iter(self.shards)
        for number in count():
            self._end_step()
            begin = self.clock()
            shard = next(shards, None)
            if shard is None:
                return
            self._loading += self.clock() - begin
            self.shard = shard
            yield number

    def _start_clocks(self) -> None:
        self._began = self.clock()
        self._waited_before = self.waited()
        self._loading = 0.0

    def backprop(self) -> Values:
        shard = self._taken()
        self.charge(examples=shard.size)
        self._outputs = self.training_step.backprop(shard.batch, shard.first_row)
        return self._outputs

    def backprop_in_buckets(
        self, buckets: Sequence[Bucket], ready: Callable[[np.ndarray], None]
    ) -> Buffers:
        shard = self._taken()
        self.charge(examples=shard.size)
        self._outputs, gradients = self.training_step.backprop_in_buckets(
            shard.batch, buckets, ready, shard.first_row
        )
        return dict(gradients)

    def device_backprop_in_buckets(
        self, buckets: Sequence[Bucket], ready: Callable[[Any], None]
    ) -> None:
        shard = self._taken()
        self.charge(examples=shard.size)
        self._outputs = self.training_step.device_backprop_in_buckets(
            shard.batch, buckets, ready, shard.first_row
        )

    @property
    def in_leaves(self) -> bool:
        return isinstance(self.training_step, ReproducibleStep)

    def backprop_in_leaves(self, reduce: Reduce, bucket_bytes: int) -> Program:
        shard = self._taken()
        self.charge(examples=shard.size)
        assert isinstance(self.training_step, ReproducibleStep)
        share = LeafShare(*shard)
        program = self.training_step.program(share, reduce, bucket_bytes)
        self._outputs = yield from program

    def whole_step(self) -> None:
        shard = self._taken()
        self.charge(examples=shard.size, updates=1)
        self._outputs = self.training_step(shard.batch, shard.first_row)
        self._finish_step()

    def update(self) -> None:
        self.charge(updates=1)
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
        self.charge(updates=1)
        self.training_step.apply(gradients)

    def device_gradients(self) -> Mapping[str, Any]:
        gradients = self.executor.device_gradients()
        if gradients is None:
            raise Deep500Error(
                f"the gradients of rank {self.rank} are in the host's memory: use worker.gradients()"
            )
        return gradients

    def device_params(self) -> Mapping[str, Any] | None:
        return self.executor.device_params() if self.sends_from_device else None

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
        """Note that an update was done; a second one for the same batch is a step of its own."""
        self._end_step()
        self._step_outputs = self._outputs

    def _end_step(self) -> None:
        """Record the step if it has had its update; time without one belongs to the next step that has."""
        outputs = self._step_outputs
        if outputs is None:
            return
        self._step_outputs = None
        self.executor.framework.sync()
        record = StepRecord(
            outputs[self.loss],
            self.clock() - self._began,
            self.waited() - self._waited_before,
            self._loading,
            self._taken().size,
        )
        self.steps.append(record)
        if self.after_step is not None:
            self.after_step(self, outputs)
        self._start_clocks()

    def optimizer_state(self) -> dict[str, np.ndarray]:
        """For a checkpoint."""
        return self.training_step.state()

    def load_optimizer_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.training_step.load_state(state)
