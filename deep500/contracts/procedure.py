"""The procedure contract: one training step, over as many networks and optimizers as it takes."""

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
    """What a trainer repeats. A subclass sets `executors` (by name) and says the four methods below.

    step(batch, first_row)   One whole step on a batch; the outputs are native. `first_row` counts the rows of the
                             ranks before this one.
    series                   Which outputs of a step the history keeps, by the name of the series; "loss" is one.
    inference(batch)         The outputs that the task reads for an evaluation.
    state(), load_state()    Everything but the executors' parameters, such as the states of the optimizers.
    parts                    Further sections of a checkpoint by name, such as "communication".
    """

    executors: dict[str, Executor]
    series: Mapping[str, str] = {"loss": "loss"}
    parts: Mapping[str, Stateful] = {}
    state_grows: bool = (
        False  # whether steps add to `state`: then it checks what it loads by itself
    )

    @property
    def framework(self) -> Framework:
        return next(iter(self.executors.values())).framework

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
    """What a recipe hands to its procedure: `Gan(setup)` makes its executors and training steps from these.

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
    """The parameters of every executor; with the executor's name in front where there are several."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        return executor.arrays()
    arrays: dict[str, np.ndarray] = {}
    for owner, executor in procedure.executors.items():
        for name, value in executor.arrays().items():
            arrays[f"{owner}/{name}"] = value
    return arrays


def load_procedure(procedure: Procedure, arrays: Mapping[str, np.ndarray]) -> None:
    """Give every executor its parameters, named as `procedure_arrays` names them."""
    if len(procedure.executors) == 1:
        [executor] = procedure.executors.values()
        executor.load(arrays)
        return
    for owner, executor in procedure.executors.items():
        prefix = f"{owner}/"
        own = {
            n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)
        }
        executor.load(own)
