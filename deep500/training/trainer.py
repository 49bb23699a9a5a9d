"""The training loop, the same for every framework and task: batches in, a history out."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import Any

import numpy as np

from .. import registry
from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor
from ..contracts.metric import History
from ..contracts.network import Network
from ..contracts.optimizer import Optimizer
from ..contracts.procedure import Procedure, procedure_arrays
from ..contracts.sampler import Sampler
from ..contracts.task import Task
from ..contracts.three_step import ThreeStepOptimizer
from ..errors import Deep500Error
from ..measure.clock import now
from ..measure.regions.region import region
from .breakdown import breakdown
from .checkpoint import Checkpoint
from .checks import check_data, check_epochs, check_network, check_outputs
from .evaluation import evaluate
from .events import Event, ProgressBar
from .loading import Loader
from .matching import matched_splits, matched_task
from .one_network import OneNetwork
from .phases import in_region, phased
from .sections import load_sections, procedure_sections, saved_sections

OF_EVERY_STEP = (
    "seconds",
    "data",
    "batch",
)  # the series that every run has beside its procedure's


class Trainer:
    """Trains on `splits["train"]`, evaluates "validation" after every epoch and "test" once, at the end.

    What is trained is an executor with an optimizer, or a Procedure of your own (then the optimizer is None). The data
    are a Dataset, or its splits by name. The task (an instance, a class or a name; classification by default) says
    which arrays the data have, which loss a network without one gets, and which qualities an evaluation reports.
    Without `events` there is a progress bar.

    A step's time runs from taking its batch out of the data (that part alone is the series "data") to the end of the
    update on the device; evaluation, events and the conversion of losses are outside of it. What a framework builds
    once for a size of batch is built before the first step: it takes `build_seconds`, which no step's time holds. With
    `breakdown`, the halves of a step are done one after the other, and the history has the series "forward",
    "backward" and "update". `time_by_part` says where the time of the run went.

    With `workers`, that many processes read the batches ahead; the run is the same to the last bit.

    `ended` says why a run stopped before its last epoch: an event's reason, or a loss that is not finite.
    """

    build_seconds = 0.0

    def __init__(
        self,
        executor: Executor | Procedure,
        optimizer: Optimizer | ThreeStepOptimizer | None,
        splits: Mapping[str, Split] | Dataset,
        sampler: Sampler,
        epochs: int,
        events: Iterable[Event] | None = None,
        loss: str = "loss",
        task: Task | type[Task] | str | None = None,
        breakdown: bool = False,
        workers: int = 0,
    ):
        self.optimizer = optimizer
        self.sampler = sampler
        self.epochs = epochs
        self.events = _in_order([ProgressBar()] if events is None else events)
        self.loss = loss
        self.task = matched_task(named_task(task), executor)
        self.splits = matched_splits(splits, self.task)
        self.breakdown = breakdown
        check_data(self.splits, self.task, self.epochs)
        self._loader = Loader(self.splits["train"], workers)
        self._subject = executor
        if isinstance(executor, Procedure):
            self.executor = next(iter(executor.executors.values()))
        else:
            self.executor = self._with_loss(executor)
            check_network(self.executor, self.splits["train"], self.task, self.loss)

    def run(self, start: Checkpoint | None = None) -> History:
        """Train from the executor's parameters, or go on from a checkpoint."""
        self._begin(start)
        try:
            while self._next_epoch():
                self._train()
                self._tell("after_epoch", self._evaluate())
            if self.evaluations:
                self.evaluations[-1]["test"] = self._qualities("test")
        finally:
            self._loader.close()
            self._return_parameters()
            self._tell("after_run")
        return self.history()

    def history(self) -> History:
        """What the run has left behind so far."""
        self.convert_series()
        return History(
            self.sampler.seed,
            {name: numbers.copy() for name, numbers in self.series.items()},
            self.counters.copy(),
            [record.copy() for record in self.evaluations],
            ended=self.ended,
        )

    def trained_arrays(self) -> dict[str, np.ndarray]:
        """The parameters that the run has come to, by name."""
        return procedure_arrays(self.procedure)

    def time_by_part(self) -> dict[str, float]:
        """Seconds of data, forward, backward, update (without `breakdown`: step), evaluation and other."""
        return breakdown(self.history())

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

    @property
    def steps(self) -> int:
        """Steps done."""
        return len(self.series["seconds"])

    def convert_series(self) -> None:
        """Make numbers of the losses so far, which waits for the device."""
        array = self.procedure.framework.array
        for name, values in self._native_series.items():
            self.series[name] += [float(array(value)) for value in values]
            values.clear()

    def divergence(self) -> str:
        """Which loss was the first that is not finite, in words; nothing if none is."""
        for step, loss in enumerate(self.series["loss"], 1):
            if not math.isfinite(loss):
                return f"the loss of step {step} is {loss}, not a finite number"
        return ""

    def _begin(self, start: Checkpoint | None) -> None:
        self.procedure = self._new_procedure()
        if start:
            check_epochs(start, self.epochs)
            load_sections(start.sections, self.procedure, self.sampler, self.events)
        self._build()
        before = start.history if start else History(self.sampler.seed)
        # of the epoch, this many batches are done
        self.epoch, self.batch = (start.epoch, start.batch) if start else (0, 0)
        self.evaluations = [record.copy() for record in before.evaluations]
        self.counters: dict[str, float] = {
            "samples": 0,
            "run seconds": 0.0,
            "evaluation seconds": 0.0,
            **before.counters,
        }
        self._native_series: dict[str, list[Any]] = {
            name: [] for name in self.procedure.series
        }
        self.series: dict[str, list[float]] = {}
        for name in (*OF_EVERY_STEP, *self._native_series):
            self.series[name] = []
        for name, numbers in before.series.items():
            self.series[name] = numbers.copy()
        self._began = now() - int(self.counters["run seconds"] * 1e9)
        self.ended = self.divergence()

    def _new_procedure(self) -> Procedure:
        if isinstance(self._subject, Procedure):
            return self._subject
        if self.optimizer is None:
            raise Deep500Error(
                "a network is trained by an optimizer, and there is none"
            )
        return OneNetwork(self.executor, self.optimizer, self.loss)

    def _build(self) -> None:
        """Do one step of every size of batch and take it back."""
        begin, train = now(), self.splits["train"]
        parts = procedure_sections(self.procedure)
        states = {name: _copies(part.state()) for name, part in parts.items()}
        first = self._first_batch()
        size = len(next(iter(first.values())))
        check_outputs(
            self.procedure, self.splits, self.task, self.procedure.step(first), first
        )
        for other_size in self.sampler.batch_sizes(len(train), self.epochs):
            if other_size != size:
                self.procedure.step(train.batch(slice(0, other_size)))
        self.procedure.framework.sync()
        for name, part in parts.items():
            part.load_state(states[name])
        self.build_seconds = (now() - begin) / 1e9

    def _first_batch(self) -> dict[str, np.ndarray]:
        """As many examples as a batch has."""
        train = self.splits["train"]
        return train.batch(slice(0, min(self.sampler.batch_size, len(train))))

    def _next_epoch(self) -> bool:
        """Whether there is another epoch to train."""
        if self.epoch >= self.epochs or self.ended:
            return False
        self._tell("before_epoch", self.epoch)
        return not self.ended

    def _train(self) -> None:
        """What is left of an epoch. Losses stay native until its end: to convert one is to wait for the device."""
        step, sync = self.procedure.step, self.procedure.framework.sync
        batches = self._batches()
        if self.breakdown:
            step = phased(self.procedure, self.record, self._first_batch())
            batches = in_region("data", batches)
        seconds, waits, sizes = (self.series[name] for name in OF_EVERY_STEP)
        counters, after_step = self.counters, self._hooks("after_step")
        recordings = [
            (self._native_series[name], output)
            for name, output in self.procedure.series.items()
        ]
        while not self.ended:
            begin = now()
            batch = next(batches, None)
            taken = now()
            if batch is None:
                self.epoch, self.batch = self.epoch + 1, 0
                return
            outputs = step(batch)
            sync()
            seconds.append((now() - begin) / 1e9)
            waits.append((taken - begin) / 1e9)
            for values, output in recordings:
                values.append(outputs[output])
            size = len(next(iter(batch.values())))
            sizes.append(size)
            counters["samples"] += size
            self.batch += 1
            for hook in after_step:
                if ending := hook(self, outputs):
                    self._end(hook, ending)

    def _batches(self) -> Iterator[dict[str, np.ndarray]]:
        indices = self.sampler.epoch(len(self.splits["train"]), self.epoch)
        return self._loader.batches(islice(indices, self.batch, None), self.epoch)

    def _evaluate(self) -> dict[str, Any]:
        self.convert_series()
        self.ended = self.ended or self.divergence()
        record = {
            "epoch": self.epoch + (self.batch > 0),
            "step": self.steps,
            "seconds": math.fsum(self.series["seconds"]),
            "validation": self._qualities("validation"),
            "test": None,
        }
        self.evaluations.append(record)
        return record

    def _qualities(self, split: str) -> dict[str, float]:
        begin = now()
        with region("evaluation") if self.breakdown else nullcontext():
            found = evaluate(
                self.procedure, self.task, self.splits[split], self.sampler.batch_size
            )
        self.counters["evaluation seconds"] += (now() - begin) / 1e9
        self.counters["run seconds"] = (now() - self._began) / 1e9
        return found

    def _hooks(self, name: str) -> list[Callable]:
        return [
            getattr(e, name)
            for e in self.events
            if getattr(type(e), name) is not getattr(Event, name)
        ]

    def _tell(self, name: str, *facts: Any) -> None:
        """Call a hook of every event, even if one of them ends the run."""
        for hook in self._hooks(name):
            if ending := hook(self, *facts):
                self._end(hook, ending)

    def _end(self, hook: Any, ending: bool | str) -> None:
        """End the run for the reason that an event gives; the first one counts."""
        reason = (
            ending
            if isinstance(ending, str)
            else f"{type(hook.__self__).__name__} says so"
        )
        self.ended = self.ended or reason

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


def _in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """As they were given, but for events that must come behind others."""
    return tuple(sorted(events, key=lambda event: event.order))


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
