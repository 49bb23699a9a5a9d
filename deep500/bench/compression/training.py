"""What every scheme trains: a perceptron with as many parameters as one for MNIST, on the built-in digits."""

from collections.abc import Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np

from ...codecs.momentum_correction import MomentumCorrection
from ...contracts.dataset_splits import loaded_splits
from ...contracts.loggp import LogGP
from ...contracts.optimizer import Optimizer
from ...contracts.recipe import Recipe
from ...contracts.scheme import Scheme
from ...contracts.transport import Program, Transport
from ...definition_text import scheme_of
from ...distributed.recipe_training import recipe_sampler
from ...distributed.replica import Replica
from ...distributed.shards import Shard, shard_of
from ...metrics.test_accuracy import TestAccuracy
from ...optimizers.momentum import Momentum
from ...optimizers.sgd import SGD
from ...training.building import recipe_executor, recipe_task
from ...transports.virtual import Virtual

LEARNING_RATE, MOMENTUM = 0.05, 0.9


def recipe_of(
    method: str, hidden: Sequence[int], batch: int, epochs: int = 1
) -> Recipe:
    """The training that all schemes have in common; a codec with momentum of its own is not given another one."""
    fixed: dict[str, Any] = {
        "model": "mlp",
        "model_kwargs": {"hidden": tuple(hidden)},
        "dataset": "digits",
        "epochs": epochs,
    }
    mutable: dict[str, Any] = {
        "batch_size": batch,
        "executor": "reference",
        "optimizer": optimizer_of(scheme_of(method)),
    }
    metrics = [(TestAccuracy(), None)]
    return Recipe("compression", fixed, mutable, metrics)


def optimizer_of(scheme: Scheme) -> Optimizer:
    codec = getattr(scheme, "codec", None)
    if isinstance(codec, MomentumCorrection):
        return SGD(LEARNING_RATE)
    return Momentum(LEARNING_RATE, MOMENTUM)


class OwnReplicas:
    """Replicas of the network for the ranks of this process, which take the batches of an epoch again and again."""

    def __init__(self, recipe: Recipe, transport: Transport, seed: int):
        self.transport = transport
        task = recipe_task(recipe)
        self.train = loaded_splits(recipe.make("dataset"))["train"]
        sampler = recipe_sampler(recipe, seed)
        self.batches = cycle(list(sampler.epoch(len(self.train), 0)))
        self.replicas: dict[int, Replica] = {}
        for rank in transport.ranks:
            executor = recipe_executor(recipe, task, self.train, seed, None)
            optimizer = recipe.make_optimizer()
            self.replicas[rank] = Replica(rank, transport.size, executor, optimizer)

    def run(self, scheme: Scheme, steps: int) -> None:
        """So many steps."""
        batches = list(islice(self.batches, steps))

        def program(rank: int) -> Program:
            replica: Any = self.replicas[rank]
            replica.clock = partial(self.transport.clock, rank)
            replica.begin_epoch(self._shards(batches, rank))
            return scheme.epoch(replica)

        self.transport.run(program)

    def _shards(self, batches: Sequence[np.ndarray], rank: int) -> list[Shard]:
        size = self.transport.size
        return [shard_of(self.train, indices, 0, rank, size) for indices in batches]


def virtual_seconds(
    recipe: Recipe, method: str, ranks: int, network: LogGP, seed: int
) -> float:
    """The virtual seconds of the communication of one step; computing takes none."""
    scheme = scheme_of(method)
    scheme.check(ranks)
    virtual = Virtual(ranks, network)
    replicas = OwnReplicas(recipe, virtual, seed)
    replicas.run(scheme, 1)
    return virtual.seconds
