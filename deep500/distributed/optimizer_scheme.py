"""A distributed optimizer as a scheme, so that what runs and checks schemes takes it as well."""

from collections.abc import Callable
from typing import Any

from ..contracts.scheme import Scheme
from ..contracts.transport import Program
from ..definition_text import Names, definition_given
from .blocking import blocking
from .communication import Communication
from .optimizer import DistributedOptimizer
from .replica import Replica

STATE = "base optimizer "


class OptimizerScheme(Scheme):
    """Calls `step` of a DistributedOptimizer's class for every batch; its base optimizer is the one of the run."""

    optimizer_class: Any

    def epoch(self, worker: Any) -> Program:
        def train(communication: Communication) -> None:
            optimizer = self._new_optimizer(worker, communication)
            for _ in worker.batches():
                outputs = optimizer.step(worker.shard.batch)
                worker.record_step(outputs)
            _save_state(worker, optimizer)

        yield from blocking(train, worker.rank, worker.size)

    def _new_optimizer(
        self, worker: Replica, communication: Communication
    ) -> DistributedOptimizer:
        base = worker.training_step.optimizer
        optimizer = self.optimizer_class(
            base, worker.executor, communication=communication
        )
        saved = {}
        for name, value in worker.state.items():
            if name.startswith(STATE):
                saved[name.removeprefix(STATE)] = value
        if saved:
            optimizer.base_optimizer.load_state(saved)
        return optimizer


def _save_state(worker: Replica, optimizer: DistributedOptimizer) -> None:
    for name, value in optimizer.base_optimizer.state().items():
        worker.state[STATE + name] = value


def scheme_given(value: Any) -> Scheme:
    """The scheme that a caller in Python gives: itself, its text or its class, or a distributed optimizer's class."""
    names = Names(adapted=distributed_optimizer)
    return definition_given(value, "schemes", names)


def distributed_optimizer(value: Any) -> Callable[[], Scheme] | None:
    """What makes a scheme of a distributed optimizer's class; None for anything else."""
    is_class = isinstance(value, type)
    if not is_class or not issubclass(value, DistributedOptimizer):
        return None

    def scheme() -> Scheme:
        return OptimizerScheme(value)

    scheme.__name__ = value.__name__
    return scheme
