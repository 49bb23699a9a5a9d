"""Trains some steps in a layout, and notes the digests of everything after every step."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...contracts.dataset_splits import loaded_splits
from ...contracts.executor import Executor
from ...contracts.recipe import Recipe
from ...contracts.sampler import Sampler
from ...contracts.transport import Transport
from ...definition_text import definition_of
from ...distributed.recipe_training import recipe_sampler
from ...distributed.trainer import DistributedTrainer
from ...schemes.all_reduce import AllReduce
from ...training.building import (
    recipe_dataset,
    recipe_executor,
    recipe_framework,
    recipe_task,
)
from ...training.checkpoint import Checkpoint
from ...training.events import Event
from ...training.reproducible_step import ReproducibleStep
from ...training.trainer import Trainer
from ...transports.virtual import Virtual
from .layout import RankLayout

Digests = dict[str, str]
INTERRUPTED_AFTER = 2


@dataclass
class Trace:
    """The digests after every step by name: of the loss, gradients and weights; and of every leaf's gradient.

    `sha256` is that of all weights at the end. Leaves are named by step, rows and part of the network.
    """

    steps: list[Digests] = field(default_factory=list)
    leaves: Digests = field(default_factory=dict)
    sha256: str = ""
    # the node that uses a parameter, for messages
    users: dict[str, str] = field(default_factory=dict)


class FirstBatches(Sampler):
    """The first batches of another sampler's epoch, and its last one, which may be shorter."""

    sampler: Any = None
    steps: int = 1

    def epoch(self, size: int, epoch: int) -> Iterator[np.ndarray]:
        batches = [*self.sampler.epoch(size, epoch)]
        if len(batches) > self.steps:
            batches = [*batches[: self.steps - 1], batches[-1]]
        yield from batches

    def batch_sizes(self, size: int, epochs: int) -> list[int]:
        return self.sampler.batch_sizes(size, epochs)


class Tracer(Event):
    """Notes the digests after every step; ends the run after so many, if that is asked for."""

    def __init__(self, trace: Trace, stop_after: int = 0):
        self.trace = trace
        self.stop_after = stop_after
        self.checkpoint: Checkpoint | None = None

    def after_step(self, trainer: Trainer, outputs: Any) -> str | None:
        executor = trainer.executor
        loss = executor.framework.array(outputs["loss"])
        digests = {"the loss": digest(loss)}
        for name, gradient in executor.flat_gradients().views().items():
            digests[f"the gradient of {name}"] = digest(gradient)
        for name, value in executor.arrays().items():
            digests[name] = digest(value)
        self.trace.steps.append(digests)
        if len(self.trace.steps) != self.stop_after:
            return None
        self.checkpoint = trainer.checkpoint()
        return "interrupted"


def digest(value: Any) -> str:
    """The SHA-256 of an array's bytes."""
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def traced(
    recipe: Recipe,
    layout: RankLayout,
    steps: int,
    data: str | None = None,
    transport: Transport | None = None,
) -> Trace:
    """Train the recipe's first seed for so many steps; real ranks give their transport."""
    training = _Training(recipe, layout, steps, data, transport)
    trace = Trace()
    if layout.resumed:
        tracer = Tracer(trace, min(INTERRUPTED_AFTER, training.batches))
        training.trainer(trace, tracer).run()
        trainer = training.trainer(trace, Tracer(trace))
        trainer.run(tracer.checkpoint)
    else:
        trainer = training.trainer(trace, Tracer(trace))
        trainer.run()
    whole = hashlib.sha256()
    arrays = trainer.executor.arrays()
    for name in sorted(arrays):
        whole.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    trace.sha256 = whole.hexdigest()
    for name in arrays:
        for node in trainer.executor.structure.consumers(name):
            trace.users[name] = f"{node.name} ({type(node.operator).__name__})"
    return trace


class _Training:
    """Makes the trainers of a layout."""

    def __init__(
        self,
        recipe: Recipe,
        layout: RankLayout,
        steps: int,
        data: str | None,
        transport: Transport | None,
    ):
        self.recipe = recipe
        self.layout = layout
        self.transport = transport
        self.task = recipe_task(recipe)
        self.splits = loaded_splits(recipe_dataset(recipe, data))
        whole = recipe_sampler(recipe, 0)
        self.sampler = FirstBatches(whole.batch_size, 0, whole, steps)
        self.batches = sum(1 for _ in self.sampler.epoch(len(self.splits["train"]), 0))

    def trainer(self, trace: Trace, tracer: Tracer) -> Trainer:
        options: dict[str, Any] = {
            "splits": self.splits,
            "sampler": self.sampler,
            "epochs": 1,
            "events": [tracer],
            "task": self.task,
        }
        optimizer = self.recipe.make_optimizer()
        if not self.layout.ranks:
            executor = self._executor()
            trainer = _WatchedTrainer(executor, optimizer, **options)
            trainer.watch = lambda step: self._watch(step, trace)
            return trainer
        transport = self.transport or Virtual(self.layout.ranks)
        executors = {rank: self._executor() for rank in transport.ranks}
        distributed = DistributedTrainer(
            self._scheme(), transport, executors, optimizer, **options
        )
        for replica in distributed.replicas.values():
            self._watch(replica.training_step, trace)
        return distributed

    def _executor(self) -> Executor:
        threads = self.layout.threads
        owner = recipe_framework(self.recipe)
        if owner is not None and owner.sets_threads:
            owner.set_threads(threads)
        return recipe_executor(self.recipe, self.task, self.splits["train"], 0, threads)

    def _scheme(self) -> AllReduce:
        settings: dict[str, Any] = {}
        if self.layout.bucket_bytes:
            settings["bucket_bytes"] = self.layout.bucket_bytes
        if self.layout.collective:
            settings["collective"] = definition_of(
                self.layout.collective, "collectives"
            )
        return AllReduce(**settings)

    def _watch(self, step: Any, trace: Trace) -> None:
        """Note the digests of leaves' gradients, from the first step of the run on."""
        if not isinstance(step, ReproducibleStep):
            return
        step.backwards = self.layout.backwards

        def watch(subject: str, rows: range, gradients: Any) -> None:
            place = f"rows {rows.start} to {rows.stop - 1}"
            name = f"step {step.count + 1}, {place}, {subject}"
            flat = b"".join(buffer.tobytes() for buffer in gradients.values())
            trace.leaves[name] = hashlib.sha256(flat).hexdigest()

        step.watch = watch


class _WatchedTrainer(Trainer):
    """A trainer whose step is watched as soon as there is one."""

    watch: Any = None

    def _new_procedure(self) -> Any:
        procedure: Any = super()._new_procedure()
        self.watch(procedure.training_step)
        return procedure
