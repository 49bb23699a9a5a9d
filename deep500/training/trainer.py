"""The training loop, the same for every framework: batches in, a history out."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from ..contracts.dataset import Split
from ..contracts.executor import Executor, TrainingStep
from ..contracts.metric import History
from ..contracts.optimizer import Optimizer
from ..contracts.sampler import Sampler
from ..errors import Deep500Error
from ..measure.clock import now
from .checkpoint import Checkpoint, check_fit
from .events import Event


class Trainer:
    """Trains a network on `splits["train"]`, looks at "validation" after every epoch and at "test" once, at the end.

    A step's time runs from taking its batch out of the data to the end of the update on the device; sampling,
    evaluation, events and the conversion of losses are outside of it. What a framework builds once for a size of batch
    is built before the first step: it takes `build_seconds`, which no step's time holds.
    """

    build_seconds = 0.0

    def __init__(
        self,
        executor: Executor,
        optimizer: Optimizer,
        splits: Mapping[str, Split],
        sampler: Sampler,
        epochs: int,
        events: Iterable[Event] = (),
        loss: str = "loss",
    ):
        self.executor = executor
        self.optimizer = optimizer
        self.splits = splits
        self.sampler = sampler
        self.epochs = epochs
        self.events = tuple(events)
        self.loss = loss
        self._check()

    def run(self, start: Checkpoint | None = None) -> History:
        """Train from the executor's parameters, or go on from a checkpoint."""
        self._begin(start)
        try:
            while self.epoch < self.epochs and not self._tell("before_epoch", self.epoch):
                self._train()
                if self._tell("after_epoch", self._evaluate()):
                    break
            if self.evaluations:
                self.evaluations[-1]["test"] = accuracy(
                    self.executor, self.splits["test"], self.sampler.batch_size
                )
        finally:
            self._tell("after_run")
        return self.history()

    def history(self) -> History:
        """What the run has left behind so far."""
        self._convert_losses()
        return History(
            self.sampler.seed,
            len(self._losses),
            self._losses.copy(),
            self._step_seconds.copy(),
            [record.copy() for record in self.evaluations],
            self.samples,
        )

    def checkpoint(self) -> Checkpoint:
        """Where the run is now, for events; copies, which the run does not change when it goes on."""
        params, state = (
            {name: np.array(value) for name, value in arrays.items()}
            for arrays in (self.executor.arrays(), self._step.state())
        )
        return Checkpoint(params, state, repr(self.sampler), self.epoch, self.batch, self.history())

    def _begin(self, start: Checkpoint | None) -> None:
        if start:
            self._check_start(start)
            self.executor.load(start.params)
        self._step: TrainingStep = self.executor.training_step(self.optimizer, y=self.loss)
        if start:
            check_fit("optimizer state", start.state, self._step.state())
            self._step.load_state(start.state)
        self._build()
        before = start.history if start else History(self.sampler.seed, 0, [], [], [])
        self.epoch, self.batch = (
            (start.epoch, start.batch) if start else (0, 0)
        )  # of it, this many batches are done
        self.samples = before.samples
        self.evaluations = [record.copy() for record in before.evaluations]
        self._losses, self._step_seconds = before.losses.copy(), before.step_seconds.copy()
        self._native_losses: list[Any] = []

    def _build(self) -> None:
        """Do one step of every size of batch and take it back."""
        begin, train = now(), self.splits["train"]
        params, state = self.executor.arrays(), self._step.state()
        kept = [
            {name: np.array(value) for name, value in arrays.items()} for arrays in (params, state)
        ]
        size = min(self.sampler.batch_size, len(train))
        self._check_labels(self._step(train.batch(slice(0, size))))
        if len(train) % size:
            self._step(train.batch(slice(0, len(train) % size)))
        self.executor.framework.sync()
        self.executor.load(kept[0])
        self._step.load_state(kept[1])
        self.build_seconds = (now() - begin) / 1e9

    def _train(self) -> None:
        """What is left of an epoch. Losses stay native until its end: to convert one is to wait for the device."""
        train, step, sync = self.splits["train"], self._step, self.executor.framework.sync
        after_step = self._hooks("after_step")
        for indices in islice(self.sampler.epoch(len(train), self.epoch), self.batch, None):
            begin = now()
            outputs = step(train.batch(indices))
            sync()
            self._step_seconds.append((now() - begin) / 1e9)
            self._native_losses.append(outputs[self.loss])
            self.batch += 1
            self.samples += len(indices)
            for hook in after_step:
                hook(self, outputs)
        self.epoch, self.batch = self.epoch + 1, 0

    def _convert_losses(self) -> None:
        self._losses += [float(self.executor.framework.array(loss)) for loss in self._native_losses]
        self._native_losses.clear()

    def _evaluate(self) -> dict[str, Any]:
        self._convert_losses()
        validation = accuracy(self.executor, self.splits["validation"], self.sampler.batch_size)
        record = {
            "epoch": self.epoch,
            "step": len(self._losses),
            "seconds": math.fsum(self._step_seconds),
            "validation": validation,
            "test": None,
        }
        self.evaluations.append(record)
        return record

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

    def _check(self) -> None:
        if self.epochs < 1:
            raise Deep500Error(f"epochs is {self.epochs}: a run needs at least 1")
        for name in ("train", "validation", "test"):
            if name not in self.splits or not len(self.splits[name]):
                raise Deep500Error(
                    f"the data have no split {name!r} with examples in it; there are: "
                    f"{', '.join(f'{k} ({len(v)})' for k, v in self.splits.items())}"
                )
        made, arrays = self.executor.structure.outputs, self.splits["train"].arrays
        for name in (self.loss, "logits"):
            if name not in made:
                raise Deep500Error(
                    f"the network has no output {name!r}; its outputs are: {', '.join(made)}"
                )
        for name in self.executor.structure.inputs:
            if name not in arrays and name not in self.executor.random:
                raise Deep500Error(
                    f"the network needs {name!r}, and the data have: {', '.join(arrays)}"
                )

    def _check_labels(self, outputs: Mapping[str, Any]) -> None:
        """A label beyond the network's classes would cost nothing on one framework and fail on another."""
        classes = self.executor.framework.array(outputs["logits"]).shape[1]
        for name, split in self.splits.items():
            low, high = split.arrays["label"].min(), split.arrays["label"].max()
            if low < 0 or high >= classes:
                raise Deep500Error(
                    f"the labels of {name!r} go from {low} to {high}, and the network has {classes} "
                    "classes: 0 to one less"
                )

    def _check_start(self, start: Checkpoint) -> None:
        check_fit("parameter", start.params, self.executor.arrays())
        if start.sampler != repr(self.sampler):
            raise Deep500Error(
                f"the checkpoint was made with {start.sampler[:99]!r}, and this run has "
                f"{repr(self.sampler)!r}"
            )
        if start.epoch > self.epochs or (start.epoch == self.epochs and start.batch):
            raise Deep500Error(
                f"the checkpoint has seen {start.epoch} epochs, and this run has {self.epochs}"
            )


def accuracy(executor: Executor, split: Split, batch_size: int) -> float:
    """Per cent of a split that the network classifies correctly; an answer that is not a number is wrong."""
    correct = 0
    for start in range(0, len(split), batch_size):
        batch = split.batch(slice(start, start + batch_size))
        logits = executor.framework.array(executor.inference(batch)["logits"])
        right = (logits.argmax(axis=1) == batch["label"]) & ~np.isnan(logits).any(axis=1)
        correct += int(right.sum())
    return 100 * correct / len(split)
