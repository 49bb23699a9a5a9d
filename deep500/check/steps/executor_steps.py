"""One of our executors as a training that `d5 check step` can ask."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...contracts.executor import Executor
from ...contracts.network import KEY
from ...errors import Deep500Error


class ExecutorSteps:
    """The training of an executor by an optimizer on one batch, a mapping of the network's inputs."""

    accumulates = False

    def __init__(self, executor: Executor, optimizer: Any, batch: Mapping[str, Any]):
        if not isinstance(executor, Executor):
            raise Deep500Error(
                f"the training of an executor is checked, such as d5.framework('pytorch').executor(network), not of "
                f"a {type(executor).__name__}"
            )
        if executor.random:
            nodes = ", ".join(name.removeprefix(KEY) for name in executor.random)
            raise Deep500Error(
                f"the network draws random numbers ({nodes}), by place in the batch: check it without"
            )
        self.executor = executor
        self.training_step = executor.training_step(optimizer)
        self._batch = dict(batch)

    def batch(self) -> dict[str, Any]:
        return self._batch

    def gradients(self, micro_batches: list[Any]) -> dict[str, np.ndarray]:
        [batch] = micro_batches
        self.executor.inference_and_backprop(batch, step=self.training_step.count)
        array = self.executor.framework.array
        return {name: array(value) for name, value in self.executor.gradients.items()}

    def step(self, micro_batches: list[Any]) -> float:
        [batch] = micro_batches
        outputs = self.training_step(batch)
        return float(self.executor.framework.array(outputs["loss"]))

    def state(self) -> dict[str, Any]:
        params = {k: np.array(v) for k, v in self.executor.arrays().items()}
        return {
            "params": params,
            "optimizer": self.training_step.state(),
            "count": self.training_step.count,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self.executor.load(state["params"])
        self.training_step.load_state(state["optimizer"])
        self.training_step.count = state["count"]

    def evaluate(self, batch: Mapping[str, Any]) -> None:
        self.executor.inference(batch)
