"""A training step in TensorFlow: forward, backward and the optimizer's formula in one graph or in two."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.executor import Values
from ...contracts.optimizer import Optimizer, State
from ...graph.functional import FunctionalStep, Program
from ...graph.programs import Programs

if TYPE_CHECKING:
    from .executor import TensorFlowExecutor


class TensorFlowStep(FunctionalStep):
    """A step whose optimizer state is in variables that the graph assigns to."""

    executor: "TensorFlowExecutor"

    def __init__(self, executor: "TensorFlowExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        self.programs: Programs[Program] = Programs()
        self._half: Callable[..., Any] | None = None
        with executor.framework.scope():
            self.states = {}
            for name in executor.structure.trainable:
                self.states[name] = self._first_state(name)
            self._device_count = tf.Variable(tf.zeros((), "float32"))

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        executor = self.executor
        training = executor.training
        inputs = executor.keyed(inputs, self.count, first_row)
        key = executor.decided, training
        program, used = self.programs.find(key, lambda: self._program(training))
        values = executor.natives(inputs, used)
        outputs = program(values)
        self._done()
        return outputs

    def _update(self) -> None:
        if self._half is None:
            self._half = self.executor.traced(self._assign)
        self._half(self.executor.gradients)

    def set_device_count(self, count: np.ndarray) -> None:
        with self.executor.framework.scope():
            self._device_count.assign(count)

    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        with self.executor.framework.scope():
            for key, value in arrays.items():
                self.states[name][key].assign(value)

    def _first_state(self, name: str) -> dict[str, Any]:
        """The optimizer's first state of one parameter, as variables."""
        param = tf.convert_to_tensor(self.executor.params[name])
        first = self.optimizer.init_named(self.executor.framework.xp, name, param)
        return {key: tf.Variable(value) for key, value in first.items()}

    def _assign(self, gradients: Values) -> Any:
        """Update by TensorFlow's own kernels if the optimizer has them, or by its formula, one parameter at a time."""
        framework = self.executor.framework
        step = self._device_count.assign_add(1).read_value()
        params: Values = {name: self.executor.params[name] for name in self.states}
        states: dict[str, State] = self.states
        optimizer = self.optimizer.with_native_kernels(framework.name, tf)
        # only kernels of TensorFlow take variables
        if optimizer is self.optimizer:
            params = _tensors(params)
            states = {name: _tensors(state) for name, state in states.items()}
        updates = optimizer.updates(framework.xp, params, gradients, states, step)
        for name, param, state in updates:
            self.executor.params[name].assign(param)
            for key, value in state.items():
                self.states[name][key].assign(value)
        return step

    def _program(self, training: bool) -> Program:
        backprop, used = self.executor.backprop(self.y, training)

        def run(inputs: Values) -> Values:
            outputs, gradients = backprop(inputs)
            self._assign(gradients)
            return outputs

        return self.executor.traced(run), used


def _tensors(variables: Mapping[str, Any]) -> Values:
    """The current values of the variables."""
    tensors = {}
    for name, variable in variables.items():
        tensors[name] = tf.convert_to_tensor(variable)
    return tensors
