"""The procedure contract: one training step, with any number of networks and optimizers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dataset import Split
from .executor import Executor, Values
from .framework import Framework
from .state import Stateful
from .task import Task


class Procedure(ABC):
    """The step that a trainer repeats. A subclass sets `executors` (by name) and implements the four methods below.

    step(batch, first_row)   One whole step on a batch; the outputs are native. `first_row` counts the rows of the
                             ranks before this one.
    series                   The outputs of a step that the history records, by the name of the series, with "loss".
    inference(batch)         The outputs that the task reads for an evaluation.
    state(), load_state()    Everything except the executors' parameters, such as the states of the optimizers.
    parts                    Further sections of a checkpoint by name, such as "communication".
    """

    executors: dict[str, Executor]
    series: Mapping[str, str] = {"loss": "loss"}
    parts: Mapping[str, Stateful] = {}
    # whether steps add arrays to `state`: then `load_state` must check its argument
    state_grows: bool = False

    @property
    def framework(self) -> Framework:
        first = next(iter(self.executors.values()))
        return first.framework

    @abstractmethod
    def step(self, batch: Mapping[str, Any], first_row: int = 0) -> Values: ...

    @abstractmethod
    def inference(self, batch: Mapping[str, Any]) -> Values: ...

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def load_state(self, state: Mapping[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class Setup:
    """The argument of a recipe's procedure: `Gan(setup)` makes its executors and training steps from it.

    executor(network)   An executor of the recipe's framework, for a network with a loss.
    optimizer(name)     A new optimizer: the recipe's, or the one of that name in MUTABLE["optimizers"].
    train, task, seed   The data, the task, and the seed of this run.
    """

    executor: Callable[[Any], Executor]
    optimizer: Callable[..., Any]
    train: Split
    task: Task
    seed: int


def procedure_arrays(procedure: Procedure) -> dict[str, np.ndarray]:
    """The parameters of every executor; their names begin with the executor's name if there are several."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        return executor.arrays()
    arrays: dict[str, np.ndarray] = {}
    for owner, executor in procedure.executors.items():
        for name, value in executor.arrays().items():
            arrays[f"{owner}/{name}"] = value
    return arrays


def load_procedure(procedure: Procedure, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the parameters of every executor; the names are those of `procedure_arrays`."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        executor.load(arrays)
        return
    for owner, executor in procedure.executors.items():
        prefix = f"{owner}/"
        params = {}
        for name, value in arrays.items():
            if name.startswith(prefix):
                params[name.removeprefix(prefix)] = value
        executor.load(params)
