"""Runs a network in TensorFlow: parameters are variables, and a graph is traced for every shape of the inputs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.executor import Values
from ...contracts.native_optimizer import NativeOptimizer
from ...contracts.network import Network, Node
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from ...graph import tape
from ...graph.channels import LAST, channels_second
from ...graph.functional import FunctionalExecutor, Program, check_traced
from . import TensorFlow
from .step import TensorFlowStep

ACTIVATIONS = {
    "Elu",
    "Gelu",
    "HardSwish",
    "LeakyRelu",
    "Relu",
    "Selu",
    "Sigmoid",
    "Softplus",
    "Tanh",
}


class TensorFlowExecutor(FunctionalExecutor):
    """Runs a network as graphs; TensorFlow differentiates native kernels, and formulas have their own derivatives.

    `params` are the live variables: a training step assigns to them, while `arrays` copies.
    """

    framework: TensorFlow

    def __init__(
        self,
        framework: TensorFlow,
        network: Network,
        seed: int = 0,
        execution: str = "deferred",
    ):
        super().__init__(framework, network, seed, execution)
        with framework.scope():
            self.params = self._own_variables(network)

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        key = ("inference", *inputs)
        program, used = self.program(key, lambda: self._inference(inputs))
        return program(self.natives(inputs, used))

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        training = self.training
        inputs = self.keyed(inputs, step, first_row)
        program, used = self.program((y, training), lambda: self._backprop(y, training))
        values = self.natives(inputs, used)
        outputs, self.gradients = program(values)
        self.generation += 1
        return outputs

    def _training_step(self, optimizer: Optimizer, y: str) -> TensorFlowStep:
        if isinstance(optimizer, NativeOptimizer):
            from .native_step import KerasOptimizerStep  # imports Keras

            return KerasOptimizerStep(self, optimizer, y)
        return TensorFlowStep(self, optimizer, y)

    def backprop(self, y: str, training: bool) -> Program:
        """Return a function of the inputs that returns outputs and gradients and updates the running statistics."""
        structure = self.structure
        updates = structure.state_updates if training else {}
        structure.gradient(y)  # raises an error if there is no y
        targets = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(targets, training)

        def run(inputs: Values) -> tuple[Values, Values]:
            inputs = self.unpacked(inputs, used)
            check_traced(structure, inputs, used)
            params = self._values()
            trained = {name: params[name] for name in structure.trainable}
            with tf.GradientTape(watch_accessed_variables=False) as record:
                record.watch(trained)
                results = self.forward(nodes, params | inputs, targets)
                seed = tape.seed(self.framework.xp, results[y], y)
            zeros = tf.UnconnectedGradients.ZERO
            gradients = record.gradient(results[y], trained, seed, zeros)
            for name, value in updates.items():
                self.params[name].assign(results[value])
            outputs = {name: results[name] for name in structure.outputs}
            return outputs, gradients

        return run, used

    def traced(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as graphs, which XLA compiles if asked to; or, for an eager execution, as it is."""
        if self.execution != "eager":
            function = Traced(function, compile=self.execution == "compiled")
        return self.framework.scoped(function)

    def native(self, value: Any, dtype: str) -> Any:
        if not tf.is_tensor(value):
            return self.placed(np.asarray(value, dtype))
        self.framework.check_place(value, "an input")
        if value.dtype.name == dtype:
            return value
        return tf.cast(value, dtype)

    def placed(self, array: np.ndarray) -> Any:
        """Return the array on the executor's device; TensorFlow may share NumPy's memory."""
        with self.framework.scope():
            return tf.convert_to_tensor(array)

    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        return formula(self.framework.xp, operator, inputs)

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        """Run a node; an activation after a convolution keeps the order of channels that this has computed in."""
        name = type(node.operator).__name__
        if name in ACTIVATIONS and hasattr(inputs[0], LAST):
            x_last = getattr(inputs[0], LAST)
            (y_last,) = super()._kernel(node, [x_last])
            return (channels_second(tf, y_last),)
        return super()._kernel(node, inputs)

    def _write(self, name: str, value: np.ndarray) -> None:
        with self.framework.scope():
            self.params[name].assign(value)

    def _own_variables(self, network: Network) -> Values:
        variables = {}
        for name, value in network.params.items():
            variables[name] = tf.Variable(value)
        return variables

    def _inference(self, inputs: Collection[str]) -> Program:
        structure = self.structure
        outputs = structure.computable(inputs)
        nodes, used = structure.part(outputs, training=False)

        def run(inputs: Values) -> Values:
            inputs = self.unpacked(inputs, used)
            check_traced(structure, inputs, used)
            return self.forward(nodes, self._values() | inputs, outputs)

        return self.traced(run), used

    def _backprop(self, y: str, training: bool) -> Program:
        run, used = self.backprop(y, training)
        return self.traced(run), used

    def _values(self) -> Values:
        values = {}
        for name, variable in self.params.items():
            values[name] = tf.convert_to_tensor(variable)
        return values


class Traced:
    """A function of named tensors, traced once for every combination of their shapes."""

    def __init__(self, function: Callable[..., Any], compile: bool):
        jit_compile = compile or None
        self.function = tf.function(function, autograph=False, jit_compile=jit_compile)
        self._graphs: dict[tuple, Any] = {}

    def __call__(self, inputs: Values) -> Any:
        shapes = (*inputs, *[tuple(value.shape) for value in inputs.values()])
        if shapes not in self._graphs:
            self._graphs[shapes] = self._trace(inputs)
        return self._graphs[shapes](inputs)

    def _trace(self, inputs: Values) -> Any:
        specs = {}
        for name, value in inputs.items():
            specs[name] = tf.TensorSpec(value.shape, value.dtype)
        return self.function.get_concrete_function(specs)


def formula(xp: Any, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """Run an operator's formula as one step of TensorFlow's differentiation, with the operator's own derivative."""
    places = []  # of the tensors; all other inputs are static
    for i, value in enumerate(inputs):
        if tf.is_tensor(value):
            places.append(i)

    @tf.custom_gradient
    def run(*arrays: Any) -> tuple[tuple, Callable]:
        values = list(inputs)
        for place, array in zip(places, arrays, strict=True):
            values[place] = array
        results = operator.run(xp, *values)

        def backward(*grads: Any) -> list[Any]:
            gradients = operator.gradients(xp, grads, values, results)
            return [gradients[i] for i in places]

        return operator.published(results), backward

    tensors = [inputs[i] for i in places]
    return run(*tensors)
