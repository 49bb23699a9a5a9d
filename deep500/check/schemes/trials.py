"""Small training runs on virtual ranks."""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import registry
from ...contracts.dataset import Split
from ...contracts.network import Network
from ...contracts.optimizer import Optimizer
from ...contracts.scheme import Scheme
from ...distributed.shards import shards
from ...distributed.trainer import DistributedTrainer
from ...frameworks import framework
from ...training.trainer import Trainer
from ...transports.virtual import Virtual

EXAMPLES = 120
CLASSES = 5
SHAPE = (1, 8, 8)
NOISE = 0.1
BATCH_SIZE = 24  # at least
EPOCHS = 3
SLOWER = {0: 1.0, 1: 1.6}  # how many times longer ranks compute


class Trials:
    """Runs of one scheme: a small perceptron on some pictures, trained by momentum."""

    def __init__(self, scheme: Scheme, ranks: int, engine: str, seed: int):
        self.scheme = scheme
        self.ranks = ranks
        self.engine = engine
        self.seed = seed
        momentum = registry.find("optimizers", "Momentum")
        self.optimizer: Optimizer = momentum(0.03, 0.9)

    def with_scheme(self, scheme: Scheme) -> "Trials":
        """Runs of another scheme, and these if it is the same."""
        if scheme == self.scheme:
            return self
        return Trials(scheme, self.ranks, self.engine, self.seed)

    @property
    def still(self) -> Optimizer:
        """An optimizer that changes nothing: what is left is communication."""
        return registry.find("optimizers", "SGD")(0.0)

    @cached_property
    def finished(self) -> DistributedTrainer:
        """A run that nothing disturbs."""
        run = self.new_run()
        run.run()
        return run

    @property
    def has_finished(self) -> bool:
        """Whether the run that nothing disturbs has been done."""
        return "finished" in vars(self)

    def new_run(
        self,
        data: Mapping[str, Split] | None = None,
        optimizer: Optimizer | None = None,
        epochs: int = EPOCHS,
        kill: Mapping[int, int] | None = None,
    ) -> DistributedTrainer:
        """A run that has not begun; ranks differ in speed, so that asynchronous ones overtake each other."""
        transport = Virtual(
            self.ranks, example=0.002, update=0.001, speed=SLOWER, kill=kill
        )
        executors = {}
        for rank in range(self.ranks):
            executors[rank] = framework(self.engine).executor(
                _network(), seed=self.seed
            )
        return DistributedTrainer(
            self.scheme,
            transport,
            executors,
            optimizer or self.optimizer,
            splits=data or pictures(),
            sampler=self.sampler(),
            epochs=epochs,
            events=[],
            check_replicas=False,  # to say why they are apart
        )

    def sampler(self) -> Any:
        return registry.find("samplers", "ShuffleSampler")(
            self.batch_size, seed=self.seed
        )

    @property
    def batch_size(self) -> int:
        """One that the ranks cannot share evenly, so that their gradients need weights."""
        trainers = len(self.scheme.trainers(self.ranks))
        batch_size = max(BATCH_SIZE, trainers + 1)
        while trainers > 1 and batch_size % trainers == 0:
            batch_size += 1
        return batch_size

    def serial(self) -> dict[str, np.ndarray]:
        """The parameters after the same training on one rank."""
        executor = framework(self.engine).executor(_network(), seed=self.seed)
        trainer = Trainer(
            executor,
            self.optimizer,
            splits=pictures(),
            sampler=self.sampler(),
            epochs=EPOCHS,
            events=[],
        )
        trainer.run()
        return executor.arrays()


def communicate(run: DistributedTrainer, epochs: int) -> None:
    """Run the programs of some epochs alone: no start, no evaluation."""
    train = run.splits["train"]
    run.lead.after_step = None
    for epoch in range(epochs):
        for place, rank in enumerate(run.trainers):
            part = shards(train, run.sampler, epoch, place, len(run.trainers))
            run.replicas[rank].shards = part
        run.run_programs(run.scheme.epoch)


def evaluated(run: DistributedTrainer) -> np.ndarray:
    """The parameters that a run would evaluate, as one array."""
    models = run.run_programs(run.scheme.model)
    return np.concatenate([buffer.ravel() for buffer in models[0].values()])


def replicas(run: DistributedTrainer) -> np.ndarray:
    """The parameters of every rank that trains, a row each."""
    rows = []
    for rank in run.trainers:
        buffers = run.replicas[rank].params().values()
        rows.append(np.concatenate([buffer.ravel() for buffer in buffers]))
    return np.array(rows, np.float64)


def spread(rows: np.ndarray) -> float:
    """The root mean square distance of the replicas from their mean."""
    return float(np.sqrt(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1))))


def scatter(run: DistributedTrainer, seed: int) -> None:
    """Move every replica away from the others."""
    random = np.random.default_rng(seed)
    for replica in run.replicas.values():
        buffers = replica.params()
        for buffer in buffers.values():
            buffer += random.normal(size=buffer.shape).astype(buffer.dtype)
        replica.set_params(buffers)


@cache
def pictures() -> dict[str, Split]:
    """Pictures of a few kinds, each a pattern of its own with noise."""
    random = np.random.default_rng(0)
    patterns = random.random((CLASSES, *SHAPE)) ** 3  # mostly dark
    labels = np.arange(EXAMPLES) % CLASSES
    noise = random.normal(0, NOISE, (EXAMPLES, *SHAPE))
    columns: dict[str, np.ndarray] = {
        "x": np.clip(patterns[labels] + noise, 0, 1).astype(np.float32),
        "label": labels,
    }
    train = Split(columns)
    others = Split(train.batch(slice(0, 40)))
    return {"train": train, "validation": others, "test": others}


def pictures_without_rank(place: int, count: int, sampler: Any) -> dict[str, Split]:
    """The data with other pictures in the rows that one of the ranks reads in the first epoch."""
    splits = dict(pictures())
    changed = splits["train"].columns["x"][:].copy()
    for rows in sampler.epoch(EXAMPLES, 0):
        part = np.array_split(rows, count)[place]
        changed[part] = 1 - changed[part]
    splits["train"] = Split({**splits["train"].columns, "x": changed})
    return splits


@cache
def _built_network() -> Network:
    task = registry.find("tasks", "Classification")()
    model = registry.find("networks", "Mlp")(hidden=(10,))
    return task.attach_loss(model.for_task(task, pictures()["train"], seed=0))


def _network() -> Network:
    return _built_network().copy()
