"""A whole training step in TensorFlow: forward, backward and the optimizer's pure formula in one graph."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.executor import TrainingStep, Values, matching
from ...contracts.optimizer import Optimizer

if TYPE_CHECKING:
    from .executor import Program, TensorFlowExecutor


class TensorFlowStep(TrainingStep):
    """The optimizer's state is in variables, which the graph assigns to."""

    def __init__(self, executor: "TensorFlowExecutor", optimizer: Optimizer, y: str):
        self.executor, self.optimizer, self.y = executor, optimizer, y
        self.count = tf.Variable(tf.zeros((), "float32"))
        params, xp = executor.params, executor.framework.xp
        self.states = {
            name: {key: tf.Variable(value) for key, value in init.items()}
            for name in executor.structure.trainable
            for init in [optimizer.init(xp, tf.convert_to_tensor(params[name]))]
        }
        self._programs: dict[bool, tuple[Program, list[str]]] = {}

    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        training = self.executor.training
        if training not in self._programs:
            self._programs[training] = self._program(training)
        return self.executor.run(self._programs[training], self.executor.keyed(inputs, self.count))

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        return {name: np.array(value.numpy()) for name, value in self._variables().items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        variables = self._variables()
        for name, value in matching(self.state(), state).items():
            variables[name].assign(value)

    def _variables(self) -> Values:
        return {"step": self.count} | {
            f"{name}.{key}": variable
            for name, state in self.states.items()
            for key, variable in state.items()
        }

    def _program(self, training: bool) -> "tuple[Program, list[str]]":
        from .executor import Traced

        executor, framework = self.executor, self.executor.framework
        backprop, used = executor.backprop(self.y, training)
        native = self.optimizer.native(framework.name)
        update = partial(native, tf) if native else partial(self.optimizer.update, framework.xp)

        def run(inputs: Values) -> Values:
            outputs, gradients = backprop(inputs)
            count = self.count.assign_add(1).read_value()
            for name, gradient in gradients.items():
                state = {
                    key: tf.convert_to_tensor(value) for key, value in self.states[name].items()
                }
                new, state = update(
                    tf.convert_to_tensor(executor.params[name]), gradient, state, count
                )
                executor.params[name].assign(new)
                for key, value in state.items():
                    self.states[name][key].assign(value)
            return outputs

        return Traced(run), used
