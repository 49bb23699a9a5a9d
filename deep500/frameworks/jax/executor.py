"""A network in JAX: pure functions of the parameters and the inputs, compiled once for every shape of the inputs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts import tape
from ...contracts.executor import Values
from ...contracts.framework import Framework
from ...contracts.functional import FunctionalExecutor, Program, check_traced
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from .step import JaxStep

ARRAY = type(jnp.zeros(()))
Call = Callable[[Values, Mapping[str, Any]], Values]


class JaxExecutor(FunctionalExecutor):
    """Runs a network compiled by XLA; derivatives are JAX's own through native kernels, ours through formulas.

    `params` holds the current arrays: a training step reuses their memory, and puts new ones in their place.
    """

    always_compiles = True

    def __init__(
        self,
        framework: Framework,
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        super().__init__(framework, network, seed, compile)
        self.params = copies(network.params)
        self._calls: dict[tuple[str, ...], Call] = {}  # by the names of the inputs

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        if self.takes_inputs_as_they_are:
            names = tuple(inputs)
            call = self._calls.get(names)
            if call is None:
                call = self._calls[names] = self._inference_call(inputs)
        else:
            inputs = self.keyed(inputs)
            call = self._inference_call(inputs)
        return call(self.params, inputs)

    def _inference_call(self, inputs: Collection[str]) -> Call:
        """A function of parameters and inputs with these names; all that can be worked out before a call is."""
        program, used = self.program(
            ("inference", *inputs), lambda: self._inference(inputs)
        )
        specs = self.structure.inputs
        dtypes = [
            (name, np.dtype(specs[name].dtype)) for name in used if name in inputs
        ]
        outputs = self.structure.computable(inputs)
        in_order = outputs == sorted(outputs)
        native, ordered = self.native, self.ordered

        def call(params: Values, inputs: Mapping[str, Any]) -> Values:
            values = []
            for name, dtype in dtypes:
                value = inputs[name]
                if type(value) is not ARRAY or value.dtype is not dtype:
                    value = native(value, dtype.name)
                values.append(value)
            results = program(params, values)
            return results if in_order else ordered(results)

        return call

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
        outputs, gradients, updates = program(self.params, values)
        self.gradients = {name: gradients[name] for name in self.structure.trainable}
        self.params = self.params | updates
        self.generation += 1
        return self.ordered(outputs)

    def _training_step(self, optimizer: Optimizer, y: str) -> JaxStep:
        return JaxStep(self, optimizer, y)

    def backprop(self, y: str, training: bool) -> Program:
        """A pure function (params, inputs) -> outputs, gradients, new running statistics; and the inputs it takes."""
        structure = self.structure
        updates = structure.state_updates if training else {}
        structure.gradient(y)  # which says so if there is no y
        wanted = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(wanted, training)

        def loss(trained: Values, params: Values, inputs: Values) -> tuple[Any, Values]:
            results = self.forward(nodes, params | trained | inputs, wanted)
            return jnp.sum(
                results[y] * tape.seed(self.framework.xp, results[y], y)
            ), results

        def run(params: Values, inputs: Values) -> tuple[Values, Values, Values]:
            check_traced(structure, inputs, used)
            trained = {name: params[name] for name in structure.trainable}
            gradients, results = jax.grad(loss, has_aux=True)(trained, params, inputs)
            outputs = {name: results[name] for name in structure.outputs}
            return (
                outputs,
                gradients,
                {name: results[value] for name, value in updates.items()},
            )

        return run, used

    def ordered(self, outputs: Values) -> Values:
        """In the network's order: what JAX has compiled returns them sorted by name."""
        return {
            name: outputs[name] for name in self.structure.outputs if name in outputs
        }

    def native(self, value: Any, dtype: str) -> Any:
        """JAX takes NumPy's arrays as they are."""
        if not isinstance(value, jax.Array):
            return np.asarray(value, dtype)
        return value if value.dtype == dtype else value.astype(dtype)

    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        return formula(self.framework.xp, operator, inputs)

    def _inference(self, inputs: Collection[str]) -> Program:
        structure = self.structure
        outputs = structure.computable(inputs)
        nodes, used = structure.part(outputs, training=False)
        names = [name for name in used if name in inputs]

        def run(params: Values, values: Sequence[Any]) -> Values:
            """Inputs come in a list, which JAX takes apart sooner than a mapping."""
            named_values = dict(zip(names, values, strict=True))
            check_traced(structure, named_values, used)
            return self.forward(nodes, params | named_values, outputs)

        return jax.jit(run), used

    def _backprop(self, y: str, training: bool) -> Program:
        run, used = self.backprop(y, training)
        return jax.jit(run), used


def copies(arrays: Mapping[str, np.ndarray]) -> Values:
    """Copies on JAX's side: it may share NumPy's memory, and a training step writes into what it is given."""
    return {name: jnp.array(value) for name, value in arrays.items()}


def formula(xp: Any, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """An operator's formula and its own derivative, as one step of JAX's differentiation."""
    places = [
        i for i, value in enumerate(inputs) if isinstance(value, jax.Array)
    ]  # others: static

    def whole(arrays: Sequence[jax.Array]) -> list[Any]:
        values = list(inputs)
        for place, array in zip(places, arrays, strict=True):
            values[place] = array
        return values

    def forward(*arrays: jax.Array) -> tuple[tuple, tuple]:
        results = operator.run(xp, *whole(arrays))
        return operator.published(results), (arrays, results)

    def backward(saved: tuple, grads: tuple) -> tuple:
        arrays, results = saved
        gradients = operator.gradients(xp, grads, whole(arrays), results)
        return tuple(gradients[i] for i in places)

    run = jax.custom_vjp(lambda *arrays: forward(*arrays)[0])
    run.defvjp(forward, backward)
    return run(*(inputs[i] for i in places))
