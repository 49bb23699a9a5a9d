"""A training step by an optimizer of Keras, in the graph of the step."""

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
    """The state is in the variables of Keras's optimizer."""

    def __init__(
        self, executor: "TensorFlowExecutor", optimizer: NativeOptimizer, y: str
    ):
        super().__init__(executor, optimizer, y)
        self._keras_optimizer = optimizer.create(keras.optimizers, optimizer.rate_at(1))
        self._keras_optimizer.build([executor.params[name] for name in self.states])

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and the variables of the optimizer by number and name."""
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, variable in self._variables().items():
            arrays[name] = np.array(variable.numpy())
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        self.set_device_count(arrays["step"])
        for name, variable in self._variables().items():
            variable.assign(arrays[name])

    def _variables(self) -> dict[str, Any]:
        """Keras gives the same name to several variables, but always in the same order."""
        variables = self._keras_optimizer.variables
        return {
            f"{i}.{variable.name}": variable for i, variable in enumerate(variables)
        }

    def _assign(self, gradients: Values) -> Any:
        step = self._device_count.assign_add(1).read_value()
        optimizer = self._keras_optimizer
        schedule = self.optimizer.schedules.get("learning_rate")
        if schedule is not None:
            rate = schedule.value(self.executor.framework.xp, step)
            optimizer.learning_rate.assign(tf.cast(rate, optimizer.learning_rate.dtype))
        names = [*self.states]
        variables = [self.executor.params[name] for name in names]
        optimizer.apply([gradients[name] for name in names], variables)
        return step
