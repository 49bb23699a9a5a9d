"""A network in TensorFlow: variables, and one traced graph for every shape of the inputs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts import tape
from ...contracts.executor import Executor, Values, matching
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from .step import TensorFlowStep

Program = Callable[[Values], Any]  # of the inputs by name


class TensorFlowExecutor(Executor):
    """Runs a network as graphs; derivatives are TensorFlow's own through native kernels, ours through formulas.

    `params` are the live variables: a training step assigns to them, while `arrays` copies.
    """

    _params: Values

    def __init__(self, framework: Framework, network: Network):
        super().__init__(framework, network)
        self._programs: dict[tuple, tuple[Program, list[str]]] = {}

    @property
    def params(self) -> Values:
        """Made when first asked for: until then `set_threads` may be called."""
        if not self._params:
            self._params = {
                name: tf.Variable(value) for name, value in self.structure.params.items()
            }
        return self._params

    @params.setter
    def params(self, values: Values) -> None:
        self._params = values

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        key = ("inference", *inputs)
        if key not in self._programs:
            self._programs[key] = self._inference(self.structure.computable(inputs))
        return self.run(self._programs[key], inputs)

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        key = (y, self.training)
        if key not in self._programs:
            backprop, used = self.backprop(y, self.training)
            self._programs[key] = Traced(backprop), used
        outputs, self.gradients = self.run(self._programs[key], self.keyed(inputs, step))
        return outputs

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> TensorFlowStep:
        self.structure.warn_before_training()
        return TensorFlowStep(self, optimizer, y)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(value.numpy()) for name, value in self.params.items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        for name, value in matching(self.arrays(), arrays).items():
            self.params[name].assign(value)

    def run(self, program: tuple[Program, list[str]], inputs: Mapping[str, Any]) -> Any:
        """Call a program with the inputs that it takes, checked, in their declared dtypes."""
        call, used = program
        kinds = self.structure.inputs
        values = {name: _typed(inputs[name], kinds[name].dtype) for name in used if name in inputs}
        self.structure.check_shapes(
            used, {name: tuple(value.shape) for name, value in values.items()}
        )
        return call(values)

    def backprop(self, y: str, training: bool) -> tuple[Program, list[str]]:
        """A function of the inputs that gives outputs and gradients and moves the running statistics."""
        structure, updates = self.structure, self.structure.state_updates if training else {}
        structure.gradient(y)  # which says so if there is no y
        wanted = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(wanted, training)

        def run(inputs: Values) -> tuple[Values, Values]:
            params = self._values()
            trained = {name: params[name] for name in structure.trainable}
            with tf.GradientTape(watch_accessed_variables=False) as record:
                record.watch(trained)
                found = self._forward(nodes, params | inputs, wanted)
                seed = tape.seed(self.framework.xp, found[y], y)
            gradients = record.gradient(found[y], trained, seed, tf.UnconnectedGradients.ZERO)
            for name, value in updates.items():
                self.params[name].assign(found[value])
            return {name: found[name] for name in structure.outputs}, gradients

        return run, used

    def _inference(self, outputs: Collection[str]) -> tuple[Program, list[str]]:
        nodes, used = self.structure.part(outputs, training=False)
        return Traced(lambda inputs: self._forward(nodes, self._values() | inputs, outputs)), used

    def _values(self) -> Values:
        return {name: tf.convert_to_tensor(variable) for name, variable in self.params.items()}

    def _forward(self, nodes: Iterable[Node], values: Values, outputs: Collection[str]) -> Values:
        return tape.forward(self.framework.xp, nodes, values, outputs, self._kernel, record=False)[
            0
        ]

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, word = self.framework.kernel(node.operator, len(node.outputs), node.inputs)
        if word == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return _formula(self.framework.xp, node.operator, inputs)


class Traced:
    """A function of named tensors, traced once for every shape of them."""

    def __init__(self, function: Program):
        self.function = tf.function(function, autograph=False)
        self._graphs: dict[tuple, Any] = {}

    def __call__(self, inputs: Values) -> Any:
        shapes = tuple(tuple(value.shape) for value in inputs.values())
        if shapes not in self._graphs:
            kinds = {
                name: tf.TensorSpec(value.shape, value.dtype) for name, value in inputs.items()
            }
            self._graphs[shapes] = self.function.get_concrete_function(kinds)
        return self._graphs[shapes](inputs)


def _typed(value: Any, dtype: str) -> Any:
    if tf.is_tensor(value):
        return value if value.dtype.name == dtype else tf.cast(value, dtype)
    return tf.convert_to_tensor(np.asarray(value, dtype))


def _formula(xp: Any, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """An operator's formula and its own derivative, as one step of TensorFlow's differentiation."""
    places = [i for i, value in enumerate(inputs) if tf.is_tensor(value)]  # the others are static

    @tf.custom_gradient
    def run(*arrays: Any) -> tuple[tuple, Callable]:
        whole = [*(dict(enumerate(inputs)) | dict(zip(places, arrays, strict=True))).values()]
        results = operator.run(xp, *whole)

        def backward(*grads: Any) -> list[Any]:
            found = operator.gradients(xp, grads, whole, results)
            return [found[i] for i in places]

        return operator.published(results), backward

    return run(*(inputs[i] for i in places))
