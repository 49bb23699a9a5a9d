"""Runs of schemes on virtual ranks, and what tests ask of them."""

from typing import Any

import numpy as np

from deep500.contracts.scheme import Scheme
from deep500.distributed.shards import shards
from deep500.distributed.trainer import DistributedTrainer
from deep500.optimizers.sgd import SGD
from tests.distributed.training import distributed

Arrays = dict[str, np.ndarray]
STILL = SGD(0.0)  # an optimizer that moves nothing: what is left is communication


def trained(scheme: Scheme, ranks: int, **settings: Any) -> DistributedTrainer:
    """A finished run."""
    run = distributed(scheme, ranks, **settings)
    run.run()
    return run


def params(run: DistributedTrainer, rank: int = 0) -> Arrays:
    return run.replicas[rank].executor.arrays()


def difference(left: Arrays, right: Arrays) -> float:
    """The largest difference of two sets of parameters."""
    return max(float(np.abs(left[name] - right[name]).max()) for name in left)


def flat(run: DistributedTrainer, rank: int) -> np.ndarray:
    """All parameters of a rank as one array."""
    [buffer] = run.replicas[rank].params().values()
    return buffer.copy()


def scatter_replicas(run: DistributedTrainer, seed: int = 0) -> np.ndarray:
    """Give every rank other parameters, without telling the scheme; returns them by rank."""
    random = np.random.default_rng(seed)
    rows = []
    for rank, replica in run.replicas.items():
        buffers = replica.params()
        for buffer in buffers.values():
            buffer += random.normal(size=buffer.shape).astype(buffer.dtype)
        replica.set_params(buffers)
        rows.append(flat(run, rank))
    return np.array(rows)


def communicate(run: DistributedTrainer, epochs: int = 1) -> None:
    """Run the programs of some epochs, without evaluations and without the initial broadcast."""
    train = run.splits["train"]
    run.lead.after_step = None
    for epoch in range(epochs):
        for rank, replica in run.replicas.items():
            if rank in run.trainers:
                index = run.trainers.index(rank)
                replica.shards = shards(
                    train, run.sampler, epoch, index, len(run.trainers)
                )
        run.run_programs(run.scheme.epoch)
