"""The usual procedure: trains one network with one optimizer."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..contracts.executor import Executor, Values
from ..contracts.optimizer import Optimizer
from ..contracts.procedure import Procedure
from ..contracts.three_step import ThreeStepOptimizer
from .steps import training_step


class OneNetwork(Procedure):
    """Runs the training step of the executor, which is the fastest one of its framework."""

    def __init__(
        self,
        executor: Executor,
        optimizer: Optimizer | ThreeStepOptimizer,
        loss: str = "loss",
    ):
        self.executor = executor
        self.executors = {"network": executor}
        self.series = {"loss": loss}
        self.training_step = training_step(executor, optimizer, loss)
        self.state_grows = self.training_step.state_grows

    def step(self, batch: Mapping[str, Any], first_row: int = 0) -> Values:
        return self.training_step(batch, first_row)

    def inference(self, batch: Mapping[str, Any]) -> Values:
        return self.executor.inference(batch)

    def state(self) -> dict[str, np.ndarray]:
        return self.training_step.state()

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.training_step.load_state(state)
