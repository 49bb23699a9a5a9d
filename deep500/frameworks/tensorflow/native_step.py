"""A training step by a Keras optimizer, which is part of the step's graph."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import keras  # type: ignore[import-untyped]
import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.executor import Values, matching
from ...contracts.native_optimizer import NativeOptimizer
from .step import TensorFlowStep

if TYPE_CHECKING:
    from .executor import TensorFlowExecutor


class KerasOptimizerStep(TensorFlowStep):
    """A step whose optimizer state is in the variables of a Keras optimizer."""

    def __init__(
        self, executor: "TensorFlowExecutor", optimizer: NativeOptimizer, y: str
    ):
        super().__init__(executor, optimizer, y)
        first_rate = optimizer.rate_at(1)
        self._keras_optimizer = optimizer.create(keras.optimizers, first_rate)
        variables = [executor.params[name] for name in self.states]
        with executor.framework.scope():
            self._keras_optimizer.build(variables)

    def state(self) -> dict[str, np.ndarray]:
        """Return the number of steps as "step", and the variables of the optimizer by number and name."""
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, variable in self._variables().items():
            arrays[name] = np.array(variable.numpy())
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        self.set_device_count(arrays["step"])
        with self.executor.framework.scope():
            for name, variable in self._variables().items():
                variable.assign(arrays[name])

    def _variables(self) -> dict[str, Any]:
        """The optimizer's variables, numbered because several have the same name; their order is always the same."""
        variables = {}
        for i, variable in enumerate(self._keras_optimizer.variables):
            variables[f"{i}.{variable.name}"] = variable
        return variables

    def _assign(self, gradients: Values) -> Any:
        step = self._device_count.assign_add(1).read_value()
        optimizer = self._keras_optimizer
        schedule = self.optimizer.schedules.get("learning_rate")
        if schedule is not None:
            rate = schedule.value(self.executor.framework.xp, step)
            variable = optimizer.learning_rate
            variable.assign(tf.cast(rate, variable.dtype))
        variables = [self.executor.params[name] for name in self.states]
        ordered = [gradients[name] for name in self.states]
        optimizer.apply(ordered, variables)
        return step
