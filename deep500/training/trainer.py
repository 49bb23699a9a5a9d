"""The training loop, the same for every framework and task: batches in, a history out."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from .. import registry
from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor, Values
from ..contracts.metric import History
from ..contracts.network import Network
from ..contracts.optimizer import Optimizer
from ..contracts.procedure import Procedure
from ..contracts.sampler import Sampler
from ..contracts.task import Task
from ..errors import Deep500Error
from ..measure.clock import now
from .checkpoint import Checkpoint
from .evaluation import evaluate
from .events import Event, SaveCheckpoint
from .matching import matched_splits, matched_task
from .one_network import OneNetwork
from .sections import load_sections, procedure_sections, saved_sections


class Trainer:
    """Trains on `splits["train"]`, evaluates "validation" after every epoch and "test" once, at the end.

    What is trained is an executor with an optimizer, or a Procedure of your own (then the optimizer is None). The task
    (an instance, a class or a name; classification by default) says which arrays the data have, which loss a network
    without one gets, and which qualities an evaluation reports.

    A step's time runs from taking its batch out of the data to the end of the update on the device; sampling,
    evaluation, events and the conversion of losses are outside of it. What a framework builds once for a size of batch
    is built before the first step: it takes `build_seconds`, which no step's time holds.
    """

    build_seconds = 0.0

    def __init__(
        self,
        executor: Executor | Procedure,
        optimizer: Optimizer | None,
        splits: Mapping[str, Split] | Dataset,
        sampler: Sampler,
        epochs: int,
        events: Iterable[Event] = (),
        loss: str = "loss",
        task: Task | type[Task] | str | None = None,
    ):
        self.optimizer = optimizer
        self.sampler = sampler
        self.epochs = epochs
        # a checkpoint holds the states of the other events, so that it is made after they have been told
        self.events = tuple(sorted(events, key=lambda event: isinstance(event, SaveCheckpoint)))
        self.loss = loss
        self.task = matched_task(named_task(task), executor)
        self.splits = matched_splits(splits, self.task)
        self._check_data()
        self._subject = executor
        if isinstance(executor, Procedure):
            self.executor = next(iter(executor.executors.values()))
        else:
            self.executor = self._with_loss(executor)
            self._check_network()

    def run(self, start: Checkpoint | None = None) -> History:
        """Train from the executor's parameters, or go on from a checkpoint."""
        self._begin(start)
        try:
            while self.epoch < self.epochs and not self._tell("before_epoch", self.epoch):
                self._train()
                if self._tell("after_epoch", self._evaluate()):
                    break
            if self.evaluations:
                self.evaluations[-1]["test"] = self._qualities("test")
        finally:
            self._return_parameters()
            self._tell("after_run")
        return self.history()

    def history(self) -> History:
        """What the run has left behind so far."""
        self._convert_series()
        return History(
            self.sampler.seed,
            {name: numbers.copy() for name, numbers in self.series.items()},
            self.counters.copy(),
            [record.copy() for record in self.evaluations],
        )

    def checkpoint(self) -> Checkpoint:
        """Where the run is now, for events; copies, which the run does not change when it goes on."""
        sections = saved_sections(self.procedure, self.sampler, self.events)
        return Checkpoint(sections, self.epoch, self.batch, self.history())

    def record(self, series: str, value: float) -> None:
        """Append a number to a series of the history; for events."""
        self.series.setdefault(series, []).append(float(value))

    @property
    def samples(self) -> int:
        """Examples trained on."""
        return int(self.counters["samples"])

    def _begin(self, start: Checkpoint | None) -> None:
        self.procedure = self._new_procedure()
        if start:
            self._check_epochs(start)
            load_sections(start.sections, self.procedure, self.sampler, self.events)
        self._build()
        before = start.history if start else History(self.sampler.seed)
        # of the epoch, this many batches are done
        self.epoch, self.batch = (start.epoch, start.batch) if start else (0, 0)
        self.evaluations = [record.copy() for record in before.evaluations]
        self.counters: dict[str, float] = {"samples": 0, **before.counters}
        self.series: dict[str, list[float]] = {"seconds": []}
        self._native_series: dict[str, list[Any]] = {}  # not converted yet
        for name in self.procedure.series:
            self.series[name], self._native_series[name] = [], []
        for name, numbers in before.series.items():
            self.series[name] = numbers.copy()

    def _new_procedure(self) -> Procedure:
        if isinstance(self._subject, Procedure):
            return self._subject
        if self.optimizer is None:
            raise Deep500Error("a network is trained by an optimizer, and there is none")
        return OneNetwork(self.executor, self.optimizer, self.loss)

    def _build(self) -> None:
        """Do one step of every size of batch and take it back."""
        begin, train = now(), self.splits["train"]
        parts = procedure_sections(self.procedure)
        states = {name: _copies(part.state()) for name, part in parts.items()}
        size = min(self.sampler.batch_size, len(train))
        first = train.batch(slice(0, size))
        self._check_outputs(self.procedure.step(first), first)
        if len(train) % size:
            self.procedure.step(train.batch(slice(0, len(train) % size)))
        self.procedure.framework.sync()
        for name, part in parts.items():
            part.load_state(states[name])
        self.build_seconds = (now() - begin) / 1e9

    def _train(self) -> None:
        """What is left of an epoch. Losses stay native until its end: to convert one is to wait for the device."""
        train, step, sync = self.splits["train"], self.procedure.step, self.procedure.framework.sync
        seconds, counters = self.series["seconds"], self.counters
        recordings = [
            (self._native_series[name], output) for name, output in self.procedure.series.items()
        ]
        after_step = self._hooks("after_step")
        for indices in islice(self.sampler.epoch(len(train), self.epoch), self.batch, None):
            begin = now()
            outputs = step(train.batch(indices))
            sync()
            seconds.append((now() - begin) / 1e9)
            for values, output in recordings:
                values.append(outputs[output])
            self.batch += 1
            counters["samples"] += len(indices)
            for hook in after_step:
                hook(self, outputs)
        self.epoch, self.batch = self.epoch + 1, 0

    def _convert_series(self) -> None:
        array = self.procedure.framework.array
        for name, values in self._native_series.items():
            self.series[name] += [float(array(value)) for value in values]
            values.clear()

    def _evaluate(self) -> dict[str, Any]:
        self._convert_series()
        record = {
            "epoch": self.epoch,
            "step": len(self.series["seconds"]),
            "seconds": math.fsum(self.series["seconds"]),
            "validation": self._qualities("validation"),
            "test": None,
        }
        self.evaluations.append(record)
        return record

    def _qualities(self, split: str) -> dict[str, float]:
        return evaluate(self.procedure, self.task, self.splits[split], self.sampler.batch_size)

    def _hooks(self, name: str) -> list[Callable]:
        return [
            getattr(e, name)
            for e in self.events
            if getattr(type(e), name) is not getattr(Event, name)
        ]

    def _tell(self, name: str, *facts: Any) -> bool:
        """Call a hook of every event; whether one of them wants to end the run."""
        return any(
            [hook(self, *facts) for hook in self._hooks(name)]
        )  # a list: every one is called

    def _with_loss(self, executor: Executor) -> Executor:
        """The executor, or another one for the same model with the task's loss."""
        model = executor.model
        if model is None or self.loss != "loss":
            return executor
        from_model = executor.framework.from_model
        if isinstance(model, Network):
            twin = from_model(self.task.attach_loss(model), **executor.options)
        else:
            loss, label = self.task.loss(), self.task.target
            twin = from_model(model, loss=loss, label=label, **executor.options)
        twin.load(executor.arrays())
        return twin

    def _return_parameters(self) -> None:
        """Give an executor without a loss what the one with the loss has learnt."""
        if isinstance(self._subject, Executor) and self._subject is not self.executor:
            self._subject.load(self.executor.arrays())

    def _check_data(self) -> None:
        if self.epochs < 1:
            raise Deep500Error(f"epochs is {self.epochs}: a run needs at least 1")
        for name in ("train", "validation", "test"):
            if name not in self.splits or not len(self.splits[name]):
                raise Deep500Error(
                    f"the data have no split {name!r} with examples in it; there are: "
                    f"{', '.join(f'{k} ({len(v)})' for k, v in self.splits.items())}"
                )
        self.task.check_arrays(self.splits)

    def _check_network(self) -> None:
        outputs, arrays = self.executor.structure.outputs, self.splits["train"].specs
        for name in (self.loss, *self.task.reads()):
            if name not in outputs:
                raise Deep500Error(
                    f"the network has no output {name!r}; its outputs are: {', '.join(outputs)}"
                )
        for name in self.executor.structure.inputs:
            if name not in arrays and name not in self.executor.random:
                raise Deep500Error(
                    f"the network needs {name!r}, and the data have: {', '.join(arrays)}"
                )

    def _check_outputs(self, outputs: Values, batch: Mapping[str, np.ndarray]) -> None:
        """Whether the data go with what the network gives for a batch."""
        reads = self.task.reads()
        if not outputs.keys() >= {*reads}:
            outputs = self.procedure.inference(batch)
        if missing := [name for name in reads if name not in outputs]:
            raise Deep500Error(
                f"the task {type(self.task).__name__} reads {missing[0]!r}, and these come out: "
                f"{', '.join(outputs)}"
            )
        array = self.procedure.framework.array
        self.task.check_data(self.splits, {name: array(outputs[name]) for name in reads})

    def _check_epochs(self, start: Checkpoint) -> None:
        if start.epoch > self.epochs or (start.epoch == self.epochs and start.batch):
            raise Deep500Error(
                f"the checkpoint has seen {start.epoch} epochs, and this run has {self.epochs}"
            )


def named_task(task: Task | type[Task] | str | None) -> Task:
    """A task from an instance, a class or a name; classification if there is none."""
    if isinstance(task, Task):
        return task
    if isinstance(task, type) and issubclass(task, Task):
        return task()  # type: ignore[call-arg]
    if task is None or isinstance(task, str):
        return registry.named("tasks", task or "Classification")()
    raise Deep500Error(f"a task is a d5.Task or the name of one, not {task!r}")


def _copies(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in state.items()}
