"""The training loop, the same for every framework and task: batches in, a history out."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ..canonical import shown
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
from ..measure.sensing.others import tree_cpu_seconds
from .breakdown import breakdown
from .checkpoint import Checkpoint
from .checks import (
    check_data,
    check_epochs,
    check_evaluate_every,
    check_network,
    check_outputs,
)
from .evaluation import evaluate
from .events import Event, ProgressBar
from .hook_time import HookTime
from .loading import Loader
from .matching import matched_splits, matched_task, named_task
from .one_network import OneNetwork
from .phases import in_region, phased
from .sections import load_sections, procedure_sections, saved_sections

# the series that every run has, in addition to those of its procedure
OF_EVERY_STEP = ("seconds", "data", "batch")


class Trainer:
    """Trains on `splits["train"]`, evaluates "validation" after every epoch and "test" once, at the end.

    Pass an executor with an optimizer, or a Procedure of your own (then the optimizer is None). The data are a Dataset,
    or a mapping from names to splits. The task (an instance, a class or a name; classification by default) defines
    which arrays the data have, which loss a network without one gets, and which qualities an evaluation reports.
    Without `events`, the run shows a progress bar.

    A step is timed from fetching its batch (that part alone is the series "data") to the end of the update on the
    device; evaluation, events and the conversion of losses are not included. Whatever a framework compiles once per
    batch size is compiled before the first step; this takes `build_seconds` and is not part of any step's time. With
    `breakdown`, the phases of a step run one after the other, and the history has the series "forward", "backward"
    and "update". `time_by_part` reports where the time of the run went.

    With `evaluate_every`, validation data are also evaluated within epochs, after that many steps of an epoch and again
    after as many. No step's time includes it, and the training is bitwise the same.

    With `workers`, that many processes load batches ahead of time; the results are bitwise the same.

    `ended` is the reason why a run stopped before its last epoch: an event's reason, or a loss that is not finite.
    """

    build_seconds = 0.0
    epoch = 0

    def __init__(
        self,
        executor: Executor | Procedure,
        optimizer: Optimizer | ThreeStepOptimizer | None,
        *,
        splits: Mapping[str, Split] | Dataset,
        sampler: Sampler,
        epochs: int,
        events: Iterable[Event] | None = None,
        loss: str = "loss",
        task: Task | type[Task] | str | None = None,
        breakdown: bool = False,
        workers: int = 0,
        evaluate_every: int | None = None,
    ):
        _check_kinds(executor, sampler)
        check_evaluate_every(evaluate_every)
        self.evaluate_every = evaluate_every
        self.optimizer = optimizer
        self.sampler = sampler
        self.epochs = epochs
        if events is None:
            events = [ProgressBar()]
        self.events = tuple(sorted(events, key=lambda event: event.order))
        self.loss = loss
        self.task = matched_task(named_task(task), executor)
        self.splits = matched_splits(splits, self.task)
        self.breakdown = breakdown
        check_data(self.splits, self.task, epochs, sampler.batch_size)
        self._loader = Loader(self.splits["train"], workers)
        self._subject = executor
        if isinstance(executor, Procedure):
            self.executor = next(iter(executor.executors.values()))
        else:
            self.executor = self._with_loss(executor)
            check_network(self.executor, self.splits["train"], self.task, self.loss)

    def run(self, start: Checkpoint | None = None) -> History:
        """Train from the executor's current parameters, or continue from a checkpoint."""
        self._begin(start)
        try:
            while self._next_epoch():
                with self._cpu_time("training"):
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
        """The series, counters and evaluations of the run so far, as copies."""
        self.convert_series()
        series = {name: numbers.copy() for name, numbers in self.series.items()}
        counters = self.counters.copy()
        evaluations = [record.copy() for record in self.evaluations]
        within = [record.copy() for record in self.within_epochs]
        seed = self.sampler.seed
        return History(seed, series, counters, evaluations, within, ended=self.ended)

    def trained_arrays(self) -> dict[str, np.ndarray]:
        """The trained parameters by name."""
        return procedure_arrays(self.procedure)

    def time_by_part(self) -> dict[str, float]:
        """Seconds spent in data, forward, backward, update (without `breakdown`: step), evaluation and other."""
        return breakdown(self.history())

    def checkpoint(self) -> Checkpoint:
        """The current state of the run, for events; it holds copies, which later steps do not change."""
        sections = saved_sections(self.procedure, self.sampler, self.events)
        return Checkpoint(sections, self.epoch, self.batch, self.history())

    def record(self, series: str, value: float) -> None:
        """Append a number to a series of the history. Meant for events."""
        self.series.setdefault(series, []).append(float(value))

    @property
    def samples(self) -> int:
        """The number of examples trained on so far."""
        return int(self.counters["samples"])

    @property
    def steps(self) -> int:
        """The number of completed steps."""
        return len(self.series["seconds"])

    def convert_series(self) -> None:
        """Convert the losses so far to floats, which waits for the device."""
        array = self.procedure.framework.array
        for name, values in self._native_series.items():
            self.series[name] += [float(array(value)) for value in values]
            values.clear()

    def divergence(self) -> str:
        """Describe the first loss that is not finite; empty if all are finite."""
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
        self.epoch = 0
        self.batch = 0  # the number of batches of this epoch that are done
        history = History(self.sampler.seed)
        if start:
            self.epoch, self.batch = start.epoch, start.batch
            history = start.history
        self._continue_history(history)
        self._began = now() - int(self.counters["run seconds"] * 1e9)
        spent_before = self.counters.get("run cpu seconds", 0.0)
        self._cpu_began = tree_cpu_seconds() - spent_before
        self.ended = self.divergence()

    def _continue_history(self, history: History) -> None:
        """Take over copies of a history, to which the steps of this run are appended."""
        self.evaluations = [record.copy() for record in history.evaluations]
        self.within_epochs = [look.copy() for look in history.within_epochs]
        self._cpu_of_parts = 0.0
        self.counters: dict[str, float] = {
            "samples": 0,
            "run seconds": 0.0,
            "evaluation seconds": 0.0,
            # CPU time of the events after steps, a part of the training time
            "event cpu seconds": 0.0,
        }
        self.counters |= history.counters
        self._native_series: dict[str, list[Any]] = {}
        for name in self.procedure.series:
            self._native_series[name] = []
        self.series: dict[str, list[float]] = {}
        for name in (*OF_EVERY_STEP, *self._native_series):
            self.series[name] = []
        for name, numbers in history.series.items():
            self.series[name] = numbers.copy()

    def _new_procedure(self) -> Procedure:
        if isinstance(self._subject, Procedure):
            return self._subject
        if self.optimizer is None:
            raise Deep500Error(
                "a network is trained by an optimizer, and there is none"
            )
        return OneNetwork(self.executor, self.optimizer, self.loss)

    def _build(self) -> None:
        """Do one step of every batch size, so that everything is compiled, and undo its effects."""
        begin = now()
        train, procedure = self.splits["train"], self.procedure
        parts = procedure_sections(procedure)
        states = {name: _copies(part.state()) for name, part in parts.items()}
        first_batch = self._first_batch()
        first_size = len(next(iter(first_batch.values())))
        outputs = procedure.step(first_batch)
        check_outputs(procedure, self.splits, self.task, outputs, first_batch)
        for size in self.sampler.batch_sizes(len(train), self.epochs):
            if size != first_size:
                procedure.step(train.batch(slice(0, size)))
        procedure.framework.sync()
        for name, part in parts.items():
            part.load_state(states[name])
        self.build_seconds = (now() - begin) / 1e9

    def _first_batch(self) -> dict[str, np.ndarray]:
        """The first examples of the training data, as many as a batch has."""
        train = self.splits["train"]
        size = min(self.sampler.batch_size, len(train))
        return train.batch(slice(0, size))

    def _next_epoch(self) -> bool:
        """Announce the next epoch to the events; False if there is none, or if one of them ends the run."""
        if self.epoch >= self.epochs or self.ended:
            return False
        self._tell("before_epoch", self.epoch)
        return not self.ended

    def _train(self) -> None:
        """Train the remaining batches of an epoch.

        Losses stay native until its end, since converting one waits for the device.
        """
        step, sync = self.procedure.step, self.procedure.framework.sync
        batches = self._batches()
        if self.breakdown:
            step = phased(self.procedure, self.record, self._first_batch())
            batches = in_region("data", batches)
        seconds, waits, sizes = (self.series[name] for name in OF_EVERY_STEP)
        counters, after_step = self.counters, self._hooks("after_step")
        hook_time = HookTime()
        recordings = []
        for name, output in self.procedure.series.items():
            recordings.append((self._native_series[name], output))
        if self._is_look_due():
            # it continues from a checkpoint that an event saved after a step
            self._look()
        sync()  # what a device still does belongs to no step
        while not self.ended:
            begin = now()
            batch = next(batches, None)
            fetched = now()
            if batch is None:
                self.epoch += 1
                self.batch = 0
                break
            outputs = step(batch)
            sync()
            seconds.append((now() - begin) / 1e9)
            waits.append((fetched - begin) / 1e9)
            for values, output in recordings:
                values.append(outputs[output])
            size = len(next(iter(batch.values())))
            sizes.append(size)
            counters["samples"] += size
            self.batch += 1
            if after_step:
                hook_time.begin()
                for hook in after_step:
                    if ending := hook(self, outputs):
                        self._end(hook, ending)
                hook_time.end()
            if self._is_look_due():
                self._look()
        counters["event cpu seconds"] += hook_time.cpu_seconds

    def _batches(self) -> Iterator[dict[str, np.ndarray]]:
        indices = self.sampler.epoch(len(self.splits["train"]), self.epoch)
        remaining = islice(indices, self.batch, None)
        return self._loader.batches(remaining, self.epoch)

    def _is_look_due(self) -> bool:
        """Whether the validation data are to be evaluated at this step of the epoch."""
        if not self.evaluate_every or not self.batch or self.ended:
            return False
        if self.batch % self.evaluate_every:
            return False
        looks = self.within_epochs
        return not looks or looks[-1]["step"] < self.steps

    def _look(self) -> None:
        """Evaluate the validation data within an epoch."""
        self.within_epochs.append(
            {
                "epoch": self.epoch + 1,
                "step": self.steps,
                "seconds": math.fsum(self.series["seconds"]),
                "validation": self._qualities("validation"),
            }
        )

    def _validation(self) -> dict[str, float]:
        """The qualities after an epoch; those of a look at its last step, which then is none within the epoch."""
        if self.within_epochs and self.within_epochs[-1]["step"] == self.steps:
            return self.within_epochs.pop()["validation"]
        return self._qualities("validation")

    def _evaluate(self) -> dict[str, Any]:
        self.convert_series()
        begun_epochs = self.epoch + (self.batch > 0)
        divergence = self.divergence()
        if divergence:
            self._check_batch(begun_epochs - 1)
        self.ended = self.ended or divergence
        record = {
            "epoch": begun_epochs,
            "step": self.steps,
            "seconds": math.fsum(self.series["seconds"]),
            "validation": self._validation(),
            "test": None,
        }
        self.evaluations.append(record)
        return record

    def _check_batch(self, epoch: int) -> None:
        """Raise a Deep500Error if it is the data that made a loss of this epoch not finite.

        Only data that are not in memory are read again: all others were checked before the run began.
        """
        done = self.evaluations[-1]["step"] if self.evaluations else 0
        losses = self.series["loss"][done:]
        finite = [math.isfinite(loss) for loss in losses]
        if all(finite):
            return
        train = self.splits["train"]
        indices = self.sampler.epoch(len(train), epoch)
        rows = next(islice(indices, finite.index(False), None))
        plain = replace(train, augmentations=())
        train.check_batch(plain.batch(rows), rows, "train")

    def _qualities(self, split: str) -> dict[str, float]:
        data, batch_size = self.splits[split], self.sampler.batch_size
        measured = region("evaluation") if self.breakdown else nullcontext()
        with self._cpu_time("evaluation"):
            begin = now()
            with measured:
                qualities = evaluate(self.procedure, self.task, data, batch_size, split)
            self.counters["evaluation seconds"] += (now() - begin) / 1e9
        self.counters["run seconds"] = (now() - self._began) / 1e9
        # another clock, by which a reader can check the first
        self.counters["unix time"] = time.time()
        self.counters["run cpu seconds"] = tree_cpu_seconds() - self._cpu_began
        return qualities

    @contextmanager
    def _cpu_time(self, part: str) -> Iterator[None]:
        """Count the CPU time of this process and its children, the work of other threads included.

        What a part within this one uses is counted for that part alone.
        """
        name = f"{part} cpu seconds"
        begin = tree_cpu_seconds() - self._cpu_of_parts
        yield
        spent = tree_cpu_seconds() - self._cpu_of_parts - begin
        self._cpu_of_parts += spent
        self.counters[name] = self.counters.get(name, 0.0) + spent

    def _hooks(self, name: str) -> list[Callable]:
        """The bound methods of this name, of the events that override it."""
        default = getattr(Event, name)
        hooks = []
        for event in self.events:
            if getattr(type(event), name) is not default:
                hooks.append(getattr(event, name))
        return hooks

    def _tell(self, name: str, *facts: Any) -> None:
        """Call a hook of every event, even if one of them ends the run."""
        for hook in self._hooks(name):
            if ending := hook(self, *facts):
                self._end(hook, ending)

    def _end(self, hook: Any, ending: bool | str) -> None:
        """End the run for the reason that an event returned; the first reason counts."""
        reason = ending
        if not isinstance(reason, str):
            event = type(hook.__self__).__name__
            reason = f"{event} says so"
        self.ended = self.ended or reason

    def _with_loss(self, executor: Executor) -> Executor:
        """The executor, or a new one for the same model with the task's loss added."""
        model = executor.model
        if model is None or self.loss != "loss":
            return executor
        from_model = executor.framework.from_model
        if isinstance(model, Network):
            model_with_loss = self.task.attach_loss(model)
            twin = from_model(model_with_loss, **executor.options)
        else:
            loss, label = self.task.loss(), self.task.target
            twin = from_model(model, loss=loss, label=label, **executor.options)
        twin.load(executor.arrays())
        return twin

    def _return_parameters(self) -> None:
        """Copy the trained parameters into the executor that was passed without a loss."""
        if isinstance(self._subject, Executor) and self._subject is not self.executor:
            self._subject.load(self.executor.arrays())


def _copies(state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(value) for name, value in state.items()}


def _check_kinds(executor: object, sampler: object) -> None:
    """Raise a Deep500Error if what trains is a network or a native model, or if the sampler is none."""
    if not isinstance(executor, Executor | Procedure):
        kind = type(executor).__name__
        raise Deep500Error(
            f'a {kind} cannot be trained as it is: give d5.framework("pytorch").executor(network), or what from_model '
            "of a framework makes of its own model"
        )
    if not isinstance(sampler, Sampler):
        raise Deep500Error(
            f"the sampler is {shown(sampler)}: give one with its batch size, such as d5.ShuffleSampler(64)"
        )
