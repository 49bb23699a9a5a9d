"""The procedure contract: one training step, over as many networks and optimizers as it takes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from .executor import Executor, Values
from .framework import Framework
from .state import Stateful


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
