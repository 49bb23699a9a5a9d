"""Trains one seed of a submission: the project's own loop, which hands over the weights after every epoch."""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import save

from .. import registry
from ..contracts.dataset import Split
from ..contracts.recipe import Recipe
from ..errors import Deep500Error
from ..training.building import recipe_executor, recipe_procedure, recipe_task
from ..training.events import Event
from ..training.trainer import Trainer
from .messages import EpochWeights, Order

if TYPE_CHECKING:
    from .trainee import Channel

DATA = "data.npz"
CLASSES = "classes"  # an array of one number beside the columns
DISTRIBUTED = ("ranks", "scheme", "codec", "transport")


class HandOver(Event):
    """Sends the weights after every epoch, and goes on when the judge says so."""

    order = 1_000_000  # after all other events

    def __init__(self, channel: "Channel"):
        self.channel = channel

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        weights = base64.b64encode(save(trainer.trained_arrays())).decode()
        self.channel.answer("epoch", EpochWeights(weights, ""))
        self.channel.wait()


def train(
    recipe: Recipe, order: Order, seed: int, epochs: int, channel: "Channel"
) -> None:
    """Train from the initial weights of this seed."""
    for key in DISTRIBUTED:
        if recipe.has(key):
            raise Deep500Error(f"MUTABLE has {key!r}: a contest trains in one process")
    split = training_data(Path(order.contest) / DATA)
    task = recipe_task(recipe)
    if recipe.has("procedure") or recipe.has("precision"):
        subject: Any = recipe_procedure(recipe, task, split, seed, order.threads)
        optimizer = None
    else:
        subject = recipe_executor(recipe, task, split, seed, order.threads)
        optimizer = recipe.make_optimizer()
    batch_size = recipe.entry("batch_size")
    settings = {"batch_size": batch_size, "seed": seed}
    if recipe.has("train_sampler"):
        sampler = recipe.make("train_sampler", **settings)
    else:
        sampler = registry.find("samplers", "ShuffleSampler")(**settings)
    # the judge has the other splits: the loop gets a few training examples in their place
    few = Split(split.batch(slice(0, batch_size)), classes=split.classes)
    splits = {"train": split, "validation": few, "test": few}
    events = [*recipe.entry("events", ()), HandOver(channel)]
    trainer = Trainer(
        subject,
        optimizer,
        splits=splits,
        sampler=sampler,
        epochs=epochs,
        events=[event() if isinstance(event, type) else event for event in events],
        task=task,
    )
    trainer.run()
    if trainer.epoch < epochs:
        channel.answer("epoch", EpochWeights("", trainer.ended))


def training_data(file: Path) -> Split:
    """The training split that the judge has written."""
    with np.load(file, allow_pickle=False) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    classes = int(columns.pop(CLASSES)[0])
    return Split(columns, classes=classes)
